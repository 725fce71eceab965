package composer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	callWithin  = 2 * time.Second        // one HTTP call
	askEvery    = 200 * time.Millisecond // between two rounds of calls
	setUpWithin = 2 * time.Minute        // the brokers have to answer
	maxAnswer   = 16 << 20               // bytes of an answer
)

var web = &http.Client{Timeout: callWithin}

// errRefused means that a broker answered, with an error.
var errRefused = errors.New("refused")

// call makes one HTTP call to a broker and decodes a JSON answer into out, if
// wanted.
func call(ctx context.Context, method, broker, path string, query url.Values, out any) error {
	address := url.URL{Scheme: "http", Host: broker, Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, address.String(), http.NoBody)
	if err != nil {
		return err
	}
	answer, err := web.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, address.Redacted(), err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %w: %s: %.200s", method, address.Redacted(), errRefused, answer.Status, body)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, address.Redacted(), err)
	}
	return nil
}

// anyBroker makes a call to one broker after another until one has done it.
func (g *stage) anyBroker(ctx context.Context, path string, query url.Values) error {
	ctx, cancel := context.WithTimeout(ctx, setUpWithin)
	defer cancel()
	for {
		var last error
		for _, broker := range g.HTTP {
			if last = call(ctx, http.MethodPost, broker, path, query, nil); last == nil {
				return nil
			}
		}
		if ctx.Err() != nil {
			return last
		}
		pause(ctx, askEvery)
	}
}

// setUp is the entry point of the workload's container.
func (g *stage) setUp(ctx context.Context) error {
	if err := g.ready(ctx); err != nil {
		return err
	}
	if err := g.assertions.SetupComplete(map[string]any{"brokers": g.TCP}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// ready waits until every broker answers.
func (g *stage) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, setUpWithin)
	defer cancel()
	for _, broker := range g.HTTP {
		for {
			err := call(ctx, http.MethodGet, broker, "/ping", nil, nil)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("wait for the brokers: %w; correct %s, or start them", err, VariableHTTP)
			}
			pause(ctx, askEvery)
		}
	}
	return nil
}

// makeTopic makes the topic and its channels, so that each channel has every
// message. It runs before any fault; where nobody has said so yet, it says that
// the test may begin.
func (g *stage) makeTopic(ctx context.Context) error {
	if err := g.anyBroker(ctx, "/topic/create", url.Values{"topic": {topic}}); err != nil {
		return fmt.Errorf("make topic %s: %w", topic, err)
	}
	for _, channel := range channels() {
		if err := g.anyBroker(ctx, "/channel/create", url.Values{"topic": {topic}, "channel": {channel}}); err != nil {
			return fmt.Errorf("make channel %s: %w", channel, err)
		}
	}
	return g.assertions.SetupComplete(map[string]any{"topic": topic, "channels": channels()})
}
