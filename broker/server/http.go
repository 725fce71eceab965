package server

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"pestle/broker/core"
	"pestle/broker/nsq"
)

const (
	// maxBodies bounds the request bodies in memory at once, each of at most
	// Limits.MaxBodySize bytes; others wait for their turn.
	maxBodies = 16

	// A client that dawdles over its request is dropped.
	headerWithin = 10 * time.Second
	bodyWithin   = time.Minute
	idleWithin   = 2 * time.Minute
)

// httpError is an answer of NSQ's HTTP interface that is not a success. Code
// is a word that clients know, Detail a sentence for people.
type httpError struct {
	Status int    `json:"-"`
	Code   string `json:"message"`
	Detail string `json:"detail,omitempty"`
}

func (e *httpError) Error() string { return e.Code }

func refuse(status int, code string) *httpError { return &httpError{Status: status, Code: code} }

// handler returns the answer to a request: a string is sent as text, nil as
// an empty body, anything else as JSON.
type handler func(*http.Request) (any, error)

func (s *Server) newHTTP() *http.Server {
	endpoints := []struct {
		method, path string
		handle       handler
	}{
		{"GET", "/ping", s.ping},
		{"GET", "/healthz", s.healthz},
		{"GET", "/info", s.info},
		{"GET", "/stats", s.stats},
		{"GET", "/log", s.log},
		{"GET", "/cluster", s.cluster},
		{"POST", "/cluster/transfer", s.transfer},
		{"POST", "/cluster/drain", s.drain},
		{"POST", "/cluster/replace", s.replace},
		{"POST", "/pub", s.publish},
		{"POST", "/mpub", s.multiPublish},
		{"POST", "/topic/create", s.createTopic},
		{"POST", "/channel/create", s.createChannel},
	}
	mux := http.NewServeMux()
	for _, e := range endpoints {
		mux.HandleFunc(e.path, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != e.method {
				w.Header().Set("Allow", e.method)
				respond(w, nil, refuse(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED"))
				return
			}
			s.serve(w, r, e.handle)
		})
	}
	mux.Handle("/metrics", s.metricsHandler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		respond(w, nil, refuse(http.StatusNotFound, "NOT_FOUND"))
	})
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, IdleTimeout: idleWithin,
	}
}

// serve answers one request. A panic costs that request, not the broker: only
// code outside the core runs here.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, handle handler) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("HTTP handler panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			respond(w, nil, refuse(http.StatusInternalServerError, "INTERNAL_ERROR"))
		}
	}()
	data, err := handle(r)
	respond(w, data, err)
}

func respond(w http.ResponseWriter, data any, err error) {
	status, kind := http.StatusOK, "text/plain; charset=utf-8"
	var body []byte
	var known *httpError
	switch {
	case errors.As(err, &known):
		status, data = known.Status, known
	case err != nil:
		status, data = http.StatusInternalServerError, &httpError{Code: "INTERNAL_ERROR", Detail: err.Error()}
	}
	switch data := data.(type) {
	case nil:
	case string:
		body = []byte(data)
	case plainError:
		status, body = data.status, []byte(data.text)
	default:
		kind = "application/json; charset=utf-8"
		if body, err = json.Marshal(data); err != nil {
			panic("server: encode an answer: " + err.Error()) // structs of numbers, strings and bools
		}
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-NSQ-Content-Type", "nsq; version=1.0")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone does not care
}

// ask hands a request to the core and waits for its reply.
func (s *Server) ask(ctx context.Context, req core.Request) (core.Reply, error) {
	select {
	case <-s.ready:
	default:
		return core.Reply{}, &httpError{http.StatusServiceUnavailable, "NOT_READY", "recovery is not complete; try again in a moment"}
	}
	req.ID = core.RequestID(s.requests.Add(1))
	answer := make(chan core.Reply, 1)
	s.mail.put(message{event: core.Event{Kind: core.EvRequest, Request: &req}, answer: answer})
	select {
	case r := <-answer:
		return r, refusal(r)
	case <-s.ended:
		select {
		case r := <-answer: // one of its last
			return r, refusal(r)
		default: // a core that stopped in order answers all it took
			return core.Reply{}, refuse(http.StatusServiceUnavailable, "EXITING")
		}
	case <-ctx.Done():
		return core.Reply{}, &httpError{http.StatusServiceUnavailable, "NO_ANSWER", "the broker did not answer in time"}
	}
}

// refusal is the error of a reply; nil when the request was done.
func refusal(r core.Reply) error {
	switch {
	case r.Code == "":
		return nil
	case strings.HasSuffix(r.Code, "_NOT_FOUND"), strings.HasPrefix(r.Code, "UNKNOWN_"):
		return &httpError{http.StatusNotFound, r.Code, r.Text}
	case strings.HasSuffix(r.Code, "_USED"), r.Code == "NODE_GONE":
		return &httpError{http.StatusConflict, r.Code, r.Text}
	case strings.HasSuffix(r.Code, "_TOO_BIG"):
		return &httpError{http.StatusRequestEntityTooLarge, r.Code, r.Text}
	case strings.HasPrefix(r.Code, "INVALID_"), strings.HasPrefix(r.Code, "MISSING_"), r.Code == "MSG_EMPTY":
		return &httpError{http.StatusBadRequest, r.Code, r.Text}
	default:
		return &httpError{http.StatusServiceUnavailable, r.Code, r.Text}
	}
}

// info's keys and their order are NSQ's; its durations are nanoseconds.
type info struct {
	Version                string `json:"version"`
	BroadcastAddress       string `json:"broadcast_address"`
	Hostname               string `json:"hostname"`
	HTTPPort               int    `json:"http_port"`
	TCPPort                int    `json:"tcp_port"`
	StartTime              int64  `json:"start_time"`
	MaxHeartbeatInterval   int64  `json:"max_heartbeat_interval"`
	MaxOutputBufferSize    int64  `json:"max_output_buffer_size"`
	MaxOutputBufferTimeout int64  `json:"max_output_buffer_timeout"`
	MaxDeflateLevel        int    `json:"max_deflate_level"`
	TopologyZone           string `json:"topology_zone"`
	TopologyRegion         string `json:"topology_region"`
}

// maxDeflateLevel is what NSQ announces; deflate is not offered.
const maxDeflateLevel = 6

func (s *Server) info(*http.Request) (any, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	broadcast := s.cfg.BroadcastAddress
	if broadcast == "" {
		broadcast = hostname
	}
	return info{
		Version: s.limits.Version, BroadcastAddress: broadcast, Hostname: hostname,
		HTTPPort: s.HTTPAddr().(*net.TCPAddr).Port, TCPPort: s.TCPAddr().(*net.TCPAddr).Port,
		StartTime:              s.started.Unix(),
		MaxHeartbeatInterval:   s.limits.MaxHeartbeatMS * int64(time.Millisecond),
		MaxOutputBufferSize:    s.limits.MaxOutputBufferSize,
		MaxOutputBufferTimeout: s.limits.MaxOutputBufferTimeoutMS * int64(time.Millisecond),
		MaxDeflateLevel:        maxDeflateLevel,
	}, nil
}

// parameters returns the query string's values. NSQ looks nowhere else.
func parameters(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "INVALID_REQUEST")
	}
	return values, nil
}

// name returns the topic or channel that a parameter names. invalid is the
// code of a bad one: NSQ has two spellings.
func name(values url.Values, parameter, invalid string) (string, error) {
	if !values.Has(parameter) {
		return "", refuse(http.StatusBadRequest, "MISSING_ARG_"+strings.ToUpper(parameter))
	}
	name := values.Get(parameter)
	if !nsq.ValidName(name) {
		return "", refuse(http.StatusBadRequest, invalid)
	}
	return name, nil
}

// flag returns a boolean parameter; what is neither true nor false is other.
func flag(values url.Values, parameter string, missing, other bool) bool {
	if !values.Has(parameter) {
		return missing
	}
	switch values.Get(parameter) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	return other
}

func (s *Server) createTopic(r *http.Request) (any, error) {
	values, err := parameters(r)
	if err != nil {
		return nil, err
	}
	topic, err := name(values, "topic", "INVALID_TOPIC")
	if err != nil {
		return nil, err
	}
	_, err = s.ask(r.Context(), core.Request{Kind: core.ReqCreateTopic, Topic: topic})
	return nil, err
}

func (s *Server) createChannel(r *http.Request) (any, error) {
	values, err := parameters(r)
	if err != nil {
		return nil, err
	}
	topic, err := name(values, "topic", "INVALID_ARG_TOPIC")
	if err != nil {
		return nil, err
	}
	channel, err := name(values, "channel", "INVALID_ARG_CHANNEL")
	if err != nil {
		return nil, err
	}
	_, err = s.ask(r.Context(), core.Request{Kind: core.ReqCreateChannel, Topic: topic, Channel: channel})
	return nil, err
}
