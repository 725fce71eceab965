package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// callWithin bounds one HTTP call: a broker that is paused or gone must not
// hold the run up.
const callWithin = time.Second

// web makes the calls to the brokers' HTTP interface.
var web = &http.Client{Timeout: callWithin}

// statusError is an answer that is no success.
type statusError struct {
	call, status, body string
	code               int
}

func (e *statusError) Error() string { return fmt.Sprintf("%s: %s: %.200s", e.call, e.status, e.body) }

// probe returns what asks whether the broker answers and can do its work, or says
// why it takes part in nothing. Of one that is no member that is right, and an
// answer is enough.
func (n *node) probe() func(context.Context) (ready bool, quarantine string) {
	member := n.member
	return func(ctx context.Context) (bool, string) {
		err := n.call(ctx, http.MethodGet, "/ping", nil, nil)
		var said *statusError
		switch {
		case err == nil:
			return true, ""
		case !errors.As(err, &said):
			return false, ""
		case !member:
			return true, ""
		}
		why := n.quarantine(ctx)
		return why != "", why
	}
}

// quarantine returns why the broker takes part in nothing; "" when it does, or
// does not answer.
func (n *node) quarantine(ctx context.Context) string {
	var said struct {
		Quarantine string `json:"quarantine"`
	}
	if err := n.call(ctx, http.MethodGet, "/cluster", nil, &said); err != nil {
		return ""
	}
	return strings.TrimSpace(said.Quarantine)
}

func (n *node) createTopic(ctx context.Context, topic string) error {
	return n.call(ctx, http.MethodPost, "/topic/create", url.Values{"topic": {topic}}, nil)
}

func (n *node) createChannel(ctx context.Context, topic, channel string) error {
	return n.call(ctx, http.MethodPost, "/channel/create", url.Values{"topic": {topic}, "channel": {channel}}, nil)
}

// version returns what the broker says of itself.
func (n *node) version(ctx context.Context) string {
	var info struct {
		Version string `json:"version"`
	}
	if err := n.call(ctx, http.MethodGet, "/info", nil, &info); err != nil {
		return "unknown: " + err.Error()
	}
	return info.Version
}

// stats returns the broker's statistics of one topic.
func (n *node) stats(ctx context.Context, topic string) (stats, error) {
	var s stats
	err := n.call(ctx, http.MethodGet, "/stats", url.Values{
		"format": {"json"}, "topic": {topic}, "include_clients": {"false"}, "include_mem": {"false"},
	}, &s)
	return s, err
}

// call makes one HTTP call and decodes a JSON answer into out, if wanted. The
// error is a statusError when the broker answered.
func (n *node) call(ctx context.Context, method, path string, query url.Values, out any) error {
	const maxAnswer = 16 << 20
	address := url.URL{Scheme: "http", Host: n.Call, Path: path, RawQuery: query.Encode()}
	call := method + " " + address.String()
	request, err := http.NewRequestWithContext(ctx, method, address.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	answer, err := web.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", call, err)
	}
	if answer.StatusCode != http.StatusOK {
		return &statusError{call: call, status: answer.Status, code: answer.StatusCode, body: string(body)}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s: decode the answer: %w", call, err)
	}
	return nil
}
