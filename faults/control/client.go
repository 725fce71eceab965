package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"pestle/faults"
)

// Caller makes one request of the control port and returns status and body of
// the answer. A nil request has no body. HTTP is one; an agent in the pod of
// the process can be another.
type Caller func(ctx context.Context, method, path string, request []byte) (status int, answer []byte, err error)

// Client calls the control port of one process. Contexts bound the calls.
type Client struct{ call Caller }

// NewClient returns the client of the port at host:port.
func NewClient(address string) *Client { return &Client{overHTTP(address)} }

// NewClientOver returns a client that calls by other means.
func NewClientOver(call Caller) *Client { return &Client{call} }

// Impose begins a fault of the disk or the clock. When it returns nil the fault
// is in effect.
func (c *Client) Impose(ctx context.Context, f faults.Fault, seed uint64) error {
	return c.ask(ctx, http.MethodPost, "/impose", Imposition{f, seed}, &struct{}{})
}

// Lift ends a fault and returns how often it bit.
func (c *Client) Lift(ctx context.Context, ref int) (bites int64, err error) {
	var answer Lifted
	err = c.ask(ctx, http.MethodPost, "/lift", Lifting{ref}, &answer)
	return answer.Bites, err
}

// PowerLoss freezes the disk for ever and rolls its files back. The process has
// to be killed afterwards.
func (c *Client) PowerLoss(ctx context.Context, seed uint64) (Loss, error) {
	var answer Loss
	err := c.ask(ctx, http.MethodPost, "/power-loss", PowerLoss{seed}, &answer)
	return answer, err
}

// Status tells what the process is under.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var answer Status
	err := c.ask(ctx, http.MethodGet, "/status", nil, &answer)
	return answer, err
}

func (c *Client) ask(ctx context.Context, method, path string, request, answer any) error {
	var body []byte
	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			return fmt.Errorf("control port: %s %s: %w", method, path, err)
		}
	}
	status, data, err := c.call(ctx, method, path, body)
	if err != nil {
		return fmt.Errorf("control port: %s %s: %w", method, path, err)
	}
	if status != http.StatusOK {
		var refusal Refusal
		if json.Unmarshal(data, &refusal) != nil || refusal.Error == "" {
			refusal.Error = string(data[:min(len(data), 200)])
		}
		return fmt.Errorf("control port: %s %s: status %d: %s", method, path, status, refusal.Error)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("control port: %s %s: the answer is not understood: %w", method, path, err)
	}
	return nil
}

// transport keeps no connection open: the process at the other end is killed
// and started again all the time.
var transport = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// maxAnswer bounds an answer in bytes.
const maxAnswer = 1 << 20

func overHTTP(address string) Caller {
	return func(ctx context.Context, method, path string, request []byte) (int, []byte, error) {
		req, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, bytes.NewReader(request))
		if err != nil {
			return 0, nil, err
		}
		resp, err := transport.Do(req)
		if err != nil {
			return 0, nil, fmt.Errorf("%w; the broker must be of a build with -tags chaos and run with --chaos-address", err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		return resp.StatusCode, data, err
	}
}
