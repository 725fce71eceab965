//go:build linux

package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pestle/faults/agent"
)

// relayTime is how long the process in the pod may take for an answer: longer
// than a disk that is slow on purpose, shorter than a harness that waits.
const relayTime = 30 * time.Second

// relay makes one HTTP request to the process that shares the pod.
func relay(ctx context.Context, r agent.Relay) (*agent.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, relayTime)
	defer cancel()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(r.Port)))
	request, err := http.NewRequestWithContext(ctx, r.Method, "http://"+address+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("relay %s %s: %w", r.Method, r.Path, err)
	}
	// The process is killed now and then: no connection outlives its request.
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("relay %s %s to %s: %w", r.Method, r.Path, address, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, agent.MaxBody+1))
	if err != nil {
		return nil, fmt.Errorf("relay %s %s: read the answer: %w", r.Method, r.Path, err)
	}
	if len(body) > agent.MaxBody {
		return nil, fmt.Errorf("relay %s %s: the answer is longer than %d bytes", r.Method, r.Path, agent.MaxBody)
	}
	return &agent.Reply{Status: response.StatusCode, Body: string(body)}, nil
}
