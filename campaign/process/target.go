package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"pestle/scenarios"
)

// brokerName is the name of the one broker process.
const brokerName = "broker-1"

// ErrTargetMissing means that the system under test is not installed here:
// nothing was tested.
var ErrTargetMissing = errors.New("the system under test is not installed")

// target is the system under test as this world sees it: a program to start
// (or not, when it runs elsewhere) and NSQ's HTTP interface to ask.
type target struct {
	tcp, http string
	args      []string // program and arguments; nil: it runs already and gets no faults
	client    *http.Client
}

// newTarget resolves the plan's target. program is Pestle's own binary; data
// is the broker's data directory.
func newTarget(t scenarios.Target, program, data string) (*target, error) {
	tcp, web := endpoints()
	out := &target{tcp: tcp, http: web, client: &http.Client{Timeout: time.Second}}
	switch t.Kind {
	case "pestle":
		out.args = append([]string{
			program, "broker",
			"--tcp-address=" + tcp, "--http-address=" + web,
			"--data-path=" + data, "--durability=" + t.Durability,
			"--die-with-stdin",
		}, t.Flags...)
		if t.Plant != "" {
			out.args = append(out.args, "--plant="+t.Plant)
		}
	case "nsq":
		if t.Address != "" {
			out.tcp, out.http = t.Address, t.HTTP
			return out, nil
		}
		nsqd, err := exec.LookPath("nsqd")
		if err != nil {
			return nil, fmt.Errorf("%w: no nsqd on PATH; install NSQ (nsq.io/deployment/installing) so that the shell finds nsqd, or set target.address and target.http to a running one", ErrTargetMissing)
		}
		host := loopback(os.Getpid())
		out.args = append([]string{
			nsqd, "--tcp-address=" + tcp, "--http-address=" + web,
			"--broadcast-address=" + host, "--data-path=" + data,
		}, t.Flags...)
	default:
		return nil, fmt.Errorf("the process world cannot run a target of kind %q", t.Kind)
	}
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, fmt.Errorf("make the broker's data directory: %w", err)
	}
	return out, nil
}

// external tells that the harness did not start the target.
func (t *target) external() bool { return t.args == nil }

// ready asks whether the target answers.
func (t *target) ready(ctx context.Context) bool {
	return t.call(ctx, http.MethodGet, "/ping", nil, nil) == nil
}

func (t *target) createTopic(ctx context.Context, topic string) error {
	return t.call(ctx, http.MethodPost, "/topic/create", url.Values{"topic": {topic}}, nil)
}

func (t *target) createChannel(ctx context.Context, topic, channel string) error {
	return t.call(ctx, http.MethodPost, "/channel/create", url.Values{"topic": {topic}, "channel": {channel}}, nil)
}

// stats is the part of NSQ's /stats that tells whether a channel is empty.
type stats struct {
	Topics []struct {
		Name     string `json:"topic_name"`
		Depth    int64  `json:"depth"`
		Channels []struct {
			Name     string `json:"channel_name"`
			Depth    int64  `json:"depth"`
			InFlight int64  `json:"in_flight_count"`
			Deferred int64  `json:"deferred_count"`
		} `json:"channels"`
	} `json:"topics"`
}

// backlog returns how many messages each channel of topic still holds:
// waiting (in the topic or the channel), in flight or deferred.
func (t *target) backlog(ctx context.Context, topic string) (map[string]int64, error) {
	var s stats
	if err := t.call(ctx, http.MethodGet, "/stats", url.Values{"format": {"json"}, "topic": {topic}, "include_clients": {"false"}}, &s); err != nil {
		return nil, err
	}
	left := map[string]int64{}
	for _, tp := range s.Topics {
		if tp.Name != topic {
			continue
		}
		for _, ch := range tp.Channels {
			left[ch.Name] = tp.Depth + ch.Depth + ch.InFlight + ch.Deferred
		}
	}
	return left, nil
}

// version returns what the target says of itself.
func (t *target) version(ctx context.Context) string {
	var info struct {
		Version string `json:"version"`
	}
	if err := t.call(ctx, http.MethodGet, "/info", nil, &info); err != nil {
		return "unknown: " + err.Error()
	}
	return info.Version
}

// call makes one HTTP call and decodes a JSON answer into out, if wanted.
func (t *target) call(ctx context.Context, method, path string, query url.Values, out any) error {
	const maxAnswer = 16 << 20
	address := url.URL{Scheme: "http", Host: t.http, Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, method, address.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address.String(), err)
	}
	answer, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, address.String(), err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %.200s", method, address.String(), answer.Status, body)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, address.String(), err)
	}
	return nil
}

// dataDir is where the broker keeps its files during the run.
func dataDir(run string) string { return filepath.Join(run, "data", brokerName) }
