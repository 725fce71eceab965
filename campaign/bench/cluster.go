package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	bootWithin = 20 * time.Second // for every broker to know a leader of every group
	stopWithin = 15 * time.Second
	callWithin = 2 * time.Second
	askEvery   = 20 * time.Millisecond
)

// Broker is one that is measured.
type Broker struct {
	TCP  string `json:"tcp"`
	HTTP string `json:"http"`
}

// cluster is brokers in processes of their own.
type cluster struct {
	brokers []Broker
	nodes   []*node
}

type node struct {
	cmd   *exec.Cmd
	stdin io.Closer    // its end is the node's
	log   bytes.Buffer // read once the process has ended
	over  chan struct{}
}

// startCluster runs brokers of program with their data under dir, at a loopback
// address of this process's own, as every run of Pestle's has one.
func startCluster(ctx context.Context, program, dir string, count int) (*cluster, error) {
	pid := os.Getpid()
	host := fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&63, pid>>8&255, pid&255)
	var members []string
	c := &cluster{}
	at := func(node, port int) string { return fmt.Sprintf("%s:%d", host, port+10*node) }
	for i := range count {
		c.brokers = append(c.brokers, Broker{TCP: at(i, 4150), HTTP: at(i, 4151)})
		members = append(members, fmt.Sprintf("%d=%s", i+1, at(i, 4152)))
	}
	for i, b := range c.brokers {
		data := filepath.Join(dir, fmt.Sprintf("node-%d", i+1))
		args := []string{"broker", "--tcp-address=" + b.TCP, "--http-address=" + b.HTTP, "--data-path=" + data, "--die-with-stdin"}
		if count > 1 {
			args = append(args, fmt.Sprintf("--node-id=%d", i+1), "--cluster="+strings.Join(members, ","))
		}
		n, err := startNode(program, data, args)
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.nodes = append(c.nodes, n)
	}
	if err := c.ready(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func startNode(program, data string, args []string) (*node, error) {
	if err := os.Mkdir(data, 0o755); err != nil {
		return nil, fmt.Errorf("make a broker's directory: %w", err)
	}
	n := &node{cmd: exec.Command(program, args...), over: make(chan struct{})}
	n.cmd.Stderr = &n.log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for the bench, which ends it
	var err error
	if n.stdin, err = n.cmd.StdinPipe(); err == nil {
		err = n.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a broker: %w", err)
	}
	go func() {
		_ = n.cmd.Wait() // stop looks at the state
		close(n.over)
	}()
	return n, nil
}

// ready waits until every broker can acknowledge.
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootWithin)
	defer cancel()
	for i, b := range c.brokers {
		for {
			_, err := call(ctx, http.MethodGet, b.HTTP, "healthz")
			if err == nil {
				break
			}
			select {
			case <-time.After(askEvery):
			case <-c.nodes[i].over:
				return fmt.Errorf("broker %d has ended: %.2000s", i+1, c.nodes[i].log.String())
			case <-ctx.Done():
				return fmt.Errorf("broker %d is not ready after %v: %w", i+1, bootWithin, err)
			}
		}
	}
	return nil
}

// stop ends the brokers in order, and kills who does not.
func (c *cluster) stop() (failed error) {
	for _, n := range c.nodes {
		_ = n.cmd.Process.Signal(syscall.SIGTERM) // one that has ended needs none
	}
	late := time.After(stopWithin)
	for i, n := range c.nodes {
		select {
		case <-n.over:
			if !n.cmd.ProcessState.Success() {
				failed = errors.Join(failed, fmt.Errorf("broker %d: %s: %.2000s", i+1, n.cmd.ProcessState, n.log.String()))
			}
		case <-late:
			_ = n.cmd.Process.Kill()
			<-n.over
			failed = errors.Join(failed, fmt.Errorf("broker %d does not stop within %v", i+1, stopWithin))
		}
		n.stdin.Close()
	}
	return failed
}

// leaderOf finds who leads a topic; the topic is made if there is none.
func leaderOf(ctx context.Context, brokers []Broker, topic string) (int, error) {
	if _, err := call(ctx, http.MethodPost, brokers[0].HTTP, "topic/create?topic="+topic); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, bootWithin)
	defer cancel()
	for {
		for i, b := range brokers {
			leads, err := leads(ctx, b, topic)
			if err != nil || leads {
				return i, err
			}
		}
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
			return 0, fmt.Errorf("none of the brokers leads topic %s after %v", topic, bootWithin)
		}
	}
}

func leads(ctx context.Context, b Broker, topic string) (bool, error) {
	answer, err := call(ctx, http.MethodGet, b.HTTP, "stats?format=json&topic="+topic)
	if err != nil {
		return false, err
	}
	var stats struct {
		Topics []struct {
			Leads bool `json:"leads"`
		} `json:"topics"`
	}
	if err := json.Unmarshal(answer, &stats); err != nil {
		return false, fmt.Errorf("statistics of %s: %w", b.HTTP, err)
	}
	return len(stats.Topics) == 1 && stats.Topics[0].Leads, nil
}

// call makes one HTTP call and returns the answer.
func call(ctx context.Context, method, address, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.200s", method, request.URL, answer.Status, body)
	}
	return body, err
}
