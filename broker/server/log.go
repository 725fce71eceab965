package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pestle/broker/core"
)

// maxLogCount is the most messages that one GET /log returns, as the core has it.
const maxLogCount = 64

// logJSON is the answer to GET /log: what is stored and some channel has not
// finished, in order.
type logJSON struct {
	Topic    string          `json:"topic"`
	Messages []logRecordJSON `json:"messages"`
}

type logRecordJSON struct {
	Offset    uint64 `json:"offset"`
	Timestamp int64  `json:"timestamp"` // ns since the epoch, log time of the publish
	Body      []byte `json:"body"`      // base64
}

// log is GET /log?topic=&offset=&count=: messages from an offset on, up to
// what is committed, from any node. Nothing is taken from any channel.
func (s *Server) log(r *http.Request) (any, error) {
	values, err := parameters(r)
	if err != nil {
		return nil, err
	}
	topic, err := name(values, "topic", "INVALID_TOPIC")
	if err != nil {
		return nil, err
	}
	offset, err := number(values, "offset", 0, 0, 1<<63-1)
	if err != nil {
		return nil, err
	}
	count, err := number(values, "count", 1, 1, maxLogCount)
	if err != nil {
		return nil, err
	}
	reply, err := s.ask(r.Context(), core.Request{Kind: core.ReqRead, Topic: topic, Offset: offset, Count: int(count)})
	if err != nil {
		return nil, err
	}
	out := logJSON{Topic: topic, Messages: make([]logRecordJSON, 0, len(reply.Read))}
	for _, m := range reply.Read {
		out.Messages = append(out.Messages, logRecordJSON{Offset: m.Offset, Timestamp: m.Log, Body: m.Body})
	}
	if values.Get("format") == "text" {
		return out.text(), nil
	}
	return out, nil
}

// text is the form for a terminal: a message a line.
func (l *logJSON) text() string {
	var b strings.Builder
	for _, m := range l.Messages {
		fmt.Fprintf(&b, "%d\t%s\t%q\n", m.Offset, time.Unix(0, m.Timestamp).UTC().Format(time.RFC3339Nano), m.Body)
	}
	return b.String()
}

// number returns a parameter that is a number from least to most; other
// without it.
func number(values url.Values, parameter string, other, least, most uint64) (uint64, error) {
	if !values.Has(parameter) {
		return other, nil
	}
	n, err := strconv.ParseUint(values.Get(parameter), 10, 64)
	if err != nil || n < least || n > most {
		return 0, &httpError{http.StatusBadRequest, "INVALID_ARG_" + strings.ToUpper(parameter), fmt.Sprintf("give a number from %d to %d", least, most)}
	}
	return n, nil
}
