package nsq

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Identity is who a client is and what was agreed with it.
type Identity struct {
	ClientID, Hostname, UserAgent string

	HeartbeatMS           int64 // -1: off
	MsgTimeoutMS          int64
	OutputBufferSize      int64 // bytes; -1: unbuffered
	OutputBufferTimeoutMS int64 // -1: off

	negotiate bool // answer with Negotiated instead of OK
}

// Negotiated is the answer to an IDENTIFY that asks for feature_negotiation.
// Times are in milliseconds.
type Negotiated struct {
	MaxReady            int64  `json:"max_rdy_count"`
	Version             string `json:"version"`
	MaxMsgTimeout       int64  `json:"max_msg_timeout"`
	MsgTimeout          int64  `json:"msg_timeout"`
	TLS                 bool   `json:"tls_v1"`
	Deflate             bool   `json:"deflate"`
	DeflateLevel        int64  `json:"deflate_level"`
	MaxDeflateLevel     int64  `json:"max_deflate_level"`
	Snappy              bool   `json:"snappy"`
	SampleRate          int64  `json:"sample_rate"`
	AuthRequired        bool   `json:"auth_required"`
	OutputBufferSize    int64  `json:"output_buffer_size"`
	OutputBufferTimeout int64  `json:"output_buffer_timeout"`
	TopologyRegion      string `json:"topology_region"`
	TopologyZone        string `json:"topology_zone"`
}

// deflateLevel is what NSQ answers for both the level and its maximum while
// compression is off.
const deflateLevel = 6

// identifyRequest holds the fields of IDENTIFY that this server looks at; all
// others are ignored.
type identifyRequest struct {
	ClientID            string `json:"client_id"`
	Hostname            string `json:"hostname"`
	UserAgent           string `json:"user_agent"`
	HeartbeatInterval   int64  `json:"heartbeat_interval"`
	OutputBufferSize    int64  `json:"output_buffer_size"`
	OutputBufferTimeout int64  `json:"output_buffer_timeout"`
	FeatureNegotiation  bool   `json:"feature_negotiation"`
	Deflate             bool   `json:"deflate"`
	Snappy              bool   `json:"snappy"`
	SampleRate          int64  `json:"sample_rate"`
	MsgTimeout          int64  `json:"msg_timeout"`
}

// anonymous is the identity before IDENTIFY: the host of address remote, and
// every default.
func anonymous(limits Limits, remote string) *Identity {
	host := remote
	if port := strings.LastIndexByte(remote, ':'); port >= 0 {
		host = strings.Trim(remote[:port], "[]")
	}
	return &Identity{
		ClientID:              host,
		Hostname:              host,
		HeartbeatMS:           limits.HeartbeatMS,
		MsgTimeoutMS:          limits.MsgTimeoutMS,
		OutputBufferSize:      limits.OutputBufferSize,
		OutputBufferTimeoutMS: limits.OutputBufferTimeoutMS,
	}
}

// parseIdentify reads the block of an IDENTIFY and returns its size. A second
// IDENTIFY before SUB replaces what the first one agreed.
func (s *Session) parseIdentify(rest []byte) (Command, int, *refusal) {
	if s.state != StateInit {
		return Command{}, 0, wrongState("IDENTIFY")
	}
	body, n, refused := block("IDENTIFY body", rest, CodeBadBody, s.limits.MaxBodySize)
	if n == 0 {
		return Command{}, 0, refused
	}
	var asked identifyRequest
	if err := json.Unmarshal(body, &asked); err != nil {
		return Command{}, 0, refuse(CodeBadBody, "IDENTIFY body is not the JSON expected: %s", explain(err))
	}
	identity, refused := asked.agree(s.limits, *s.identity)
	return Command{Kind: CmdIdentify, Identity: identity}, n, refused
}

// explain says what is wrong with a client's JSON, without the names of Go
// types that encoding/json would put in.
func explain(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Sprintf("%s cannot be %s", cmp.Or(mismatch.Field, "the whole"), mismatch.Value)
	}
	return err.Error()
}

// agree checks every field and fills in defaults; what the client leaves
// unnamed keeps its name in was.
func (r identifyRequest) agree(limits Limits, was Identity) (*Identity, *refusal) {
	id := &Identity{ClientID: was.ClientID, Hostname: was.Hostname, UserAgent: r.UserAgent, negotiate: r.FeatureNegotiation}
	if r.ClientID != "" {
		id.ClientID = r.ClientID
	}
	if r.Hostname != "" {
		id.Hostname = r.Hostname
	}
	for _, field := range []struct {
		name                  string
		asked                 int64
		least, most, fallback int64
		off                   bool // -1 turns it off
		agreed                *int64
	}{
		{"heartbeat interval", r.HeartbeatInterval, minHeartbeatMS, limits.MaxHeartbeatMS, limits.HeartbeatMS, true, &id.HeartbeatMS},
		{"output buffer size", r.OutputBufferSize, minOutputBufferSize, limits.MaxOutputBufferSize, limits.OutputBufferSize, true, &id.OutputBufferSize},
		{"output buffer timeout", r.OutputBufferTimeout, minOutputBufferTimeoutMS, limits.MaxOutputBufferTimeoutMS, limits.OutputBufferTimeoutMS, true, &id.OutputBufferTimeoutMS},
		{"msg timeout", r.MsgTimeout, minMsgTimeoutMS, limits.MaxMsgTimeoutMS, limits.MsgTimeoutMS, false, &id.MsgTimeoutMS},
	} {
		switch {
		case field.asked == 0:
			*field.agreed = field.fallback
		case field.asked == -1 && field.off, field.asked >= field.least && field.asked <= field.most:
			*field.agreed = field.asked
		default:
			return nil, invalidField(field.name, field.asked)
		}
	}
	if r.SampleRate < 0 || r.SampleRate > 99 {
		return nil, invalidField("sample rate", r.SampleRate)
	}
	if r.FeatureNegotiation && r.Deflate && r.Snappy {
		return nil, refuse(CodeIdentifyFailed, "deflate and snappy exclude each other: ask for one")
	}
	return id, nil
}

// invalidField has NSQ's wording, which go-nsq's own tests compare as a whole.
func invalidField(name string, asked int64) *refusal {
	return refuse(CodeBadBody, "IDENTIFY %s (%d) is invalid", name, asked)
}

// response is what the client gets to read. TLS, compression and sampling are
// not offered, whatever was asked.
func (id *Identity) response(limits Limits) string {
	if !id.negotiate {
		return OK
	}
	out, err := json.Marshal(Negotiated{
		MaxReady:            limits.MaxReady,
		Version:             limits.Version,
		MaxMsgTimeout:       limits.MaxMsgTimeoutMS,
		MsgTimeout:          id.MsgTimeoutMS,
		DeflateLevel:        deflateLevel,
		MaxDeflateLevel:     deflateLevel,
		OutputBufferSize:    id.OutputBufferSize,
		OutputBufferTimeout: id.OutputBufferTimeoutMS,
	})
	if err != nil {
		panic(fmt.Sprintf("nsq: encode the answer to IDENTIFY: %v", err)) // a struct of numbers, strings and bools
	}
	return string(out)
}
