package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"pestle/broker/core"
)

// aliveWithin is how long /ping, /healthz and /metrics wait for the core.
const aliveWithin = 2 * time.Second

// healthy is what core.Stats.Health says when all is well.
const healthy = "OK"

// plainError is a failure told as text, as /ping and /healthz do.
type plainError struct {
	status int
	text   string
}

// alive returns the core's statistics, or why it does not give any.
func (s *Server) alive(ctx context.Context) (st *core.Stats, trouble string) {
	ctx, cancel := context.WithTimeout(ctx, aliveWithin)
	defer cancel()
	reply, err := s.ask(ctx, core.Request{Kind: core.ReqStats})
	var known *httpError
	switch {
	case errors.As(err, &known) && known.Detail != "":
		return nil, known.Detail
	case err != nil:
		return nil, err.Error()
	}
	return reply.Stats, ""
}

// ping is GET /ping, as NSQ has it: whether this node does its work.
func (s *Server) ping(r *http.Request) (any, error) {
	st, trouble := s.alive(r.Context())
	if trouble == "" {
		trouble = st.Health
	}
	if trouble != healthy {
		return plainError{http.StatusInternalServerError, "NOK - " + trouble}, nil
	}
	return "OK", nil
}

// healthz is GET /healthz: whether publishes to any topic can be acknowledged.
func (s *Server) healthz(r *http.Request) (any, error) {
	st, trouble := s.alive(r.Context())
	if trouble == "" {
		trouble = strings.Join(describeCluster(st).Troubles(), "\n")
	}
	if trouble != "" {
		return plainError{http.StatusServiceUnavailable, trouble + "\n"}, nil
	}
	return "OK\n", nil
}
