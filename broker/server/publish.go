package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"pestle/broker/core"
)

// readBody reads a request's body of at most limit bytes. What says it is
// longer is refused before a byte is read; what turns out to be longer, once
// limit bytes were.
func (s *Server) readBody(r *http.Request, limit int64, tooBig string) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, refuse(http.StatusRequestEntityTooLarge, tooBig)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, &httpError{http.StatusInternalServerError, "INTERNAL_ERROR", "read the body: " + err.Error()}
	}
	if int64(len(body)) > limit {
		return nil, refuse(http.StatusRequestEntityTooLarge, tooBig)
	}
	return body, nil
}

// holdBody waits until one more body may be held in memory.
func (s *Server) holdBody(r *http.Request) (release func(), err error) {
	select {
	case s.bodies <- struct{}{}:
		return func() { <-s.bodies }, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// publish is POST /pub: one message, with NSQ's order of checks.
func (s *Server) publish(r *http.Request) (any, error) {
	release, err := s.holdBody(r)
	if err != nil {
		return nil, err
	}
	defer release()
	body, err := s.readBody(r, s.limits.MaxMessageSize, "MSG_TOO_BIG")
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return nil, refuse(http.StatusBadRequest, "MSG_EMPTY")
	}
	return s.publishAll(r, func(url.Values) ([][]byte, error) { return [][]byte{body}, nil })
}

// multiPublish is POST /mpub: all messages of the body, or none.
func (s *Server) multiPublish(r *http.Request) (any, error) {
	release, err := s.holdBody(r)
	if err != nil {
		return nil, err
	}
	defer release()
	body, err := s.readBody(r, s.limits.MaxBodySize, "BODY_TOO_BIG")
	if err != nil {
		return nil, err
	}
	return s.publishAll(r, func(values url.Values) ([][]byte, error) {
		if flag(values, "binary", false, true) {
			return s.splitBinary(body)
		}
		return s.splitLines(body)
	})
}

func (s *Server) publishAll(r *http.Request, split func(url.Values) ([][]byte, error)) (any, error) {
	values, err := parameters(r)
	if err != nil {
		return nil, err
	}
	topic, err := name(values, "topic", "INVALID_TOPIC")
	if err != nil {
		return nil, err
	}
	deferral, err := s.deferral(values)
	if err != nil {
		return nil, err
	}
	bodies, err := split(values)
	if err != nil {
		return nil, err
	}
	if len(bodies) > 0 {
		_, err = s.ask(r.Context(), core.Request{
			Kind: core.ReqPublish, Topic: topic, Bodies: bodies, DeferMS: deferral,
		})
	}
	return "OK", err
}

// deferral returns the parameter defer in ms; 0 without it.
func (s *Server) deferral(values url.Values) (int64, error) {
	if !values.Has("defer") {
		return 0, nil
	}
	ms, err := strconv.ParseInt(values.Get("defer"), 10, 64)
	if err != nil || ms < 0 || ms > s.limits.MaxDeferMS {
		return 0, refuse(http.StatusBadRequest, "INVALID_DEFER")
	}
	return ms, nil
}

// splitLines takes each line that is not empty for a message.
func (s *Server) splitLines(body []byte) ([][]byte, error) {
	var bodies [][]byte
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		if int64(len(line)) > s.limits.MaxMessageSize {
			return nil, refuse(http.StatusRequestEntityTooLarge, "MSG_TOO_BIG")
		}
		if len(line) > 0 {
			bodies = append(bodies, line)
		}
	}
	return bodies, nil
}

// splitBinary takes a body apart as MPUB's: a count, then for each message
// its size and its bytes, all numbers four bytes, big-endian. Unlike NSQ it
// does not ignore what follows the last message.
func (s *Server) splitBinary(body []byte) ([][]byte, error) {
	count, rest, err := takeInt32(body)
	if err != nil || count <= 0 || int64(count) > int64(len(rest))/5 {
		return nil, refuse(http.StatusRequestEntityTooLarge, "BAD_BODY")
	}
	bodies := make([][]byte, 0, count)
	for range count {
		var size int32
		size, rest, err = takeInt32(rest)
		if err != nil || size <= 0 || int64(size) > s.limits.MaxMessageSize || int(size) > len(rest) {
			return nil, refuse(http.StatusRequestEntityTooLarge, "BAD_MESSAGE")
		}
		bodies = append(bodies, rest[:size:size])
		rest = rest[size:]
	}
	if len(rest) > 0 {
		return nil, refuse(http.StatusRequestEntityTooLarge, "BAD_BODY")
	}
	return bodies, nil
}

var errShort = errors.New("ends inside a number")

func takeInt32(b []byte) (int32, []byte, error) {
	if len(b) < 4 {
		return 0, nil, errShort
	}
	return int32(binary.BigEndian.Uint32(b)), b[4:], nil
}
