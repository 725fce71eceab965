package compose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/docker/go-connections/nat"

	"pestle/campaign/conductor"
	"pestle/faults/agent"
)

// reportWithin is how long an agent has for its first line.
const reportWithin = 30 * time.Second

// pod is one process of the run with the network namespace it lives in.
type pod struct {
	conductor.Process
	address netip.Addr
	call    string // 127.0.0.1:port where this machine reaches a broker's HTTP

	process  process
	troubles troubles
	owner    string // id of the agent's container, which owns the namespace
	agent    *agent.Client
	report   agent.Answer // what its kernel can do
	stream   types.HijackedResponse
	log      *os.File // what the agent says on its standard error
}

// project is what all containers of a run have in common.
type project struct {
	engine  *Engine
	run     string // id in Docker
	dir     string // run directory
	labels  map[string]string
	image   string
	network string
	subnet  netip.Prefix
	user    string // uid:gid of the processes
}

// name is that of an object of the run.
func (p *project) name(of string) string { return "pestle-" + p.run + "-" + of }

// logPath is where the output of a process goes.
func (p *project) logPath(process string) string { return filepath.Join(p.dir, "logs", process+".log") }

// makePod makes both containers and starts the agent. What it has begun it
// leaves to the removal of the run.
func (p *project) makePod(ctx context.Context, pod *pod, command, env []string, mounts []mount.Mount) error {
	if err := p.startAgent(ctx, pod); err != nil {
		return fmt.Errorf("agent of %s: %w", pod.Name, err)
	}
	made, err := p.engine.api.ContainerCreate(ctx, &container.Config{
		Image: p.image, Cmd: command[1:], // the image's entry point is the program
		Env: env, User: p.user, WorkingDir: runPath, Labels: p.labels,
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	}, p.hardened(container.HostConfig{
		NetworkMode: container.NetworkMode("container:" + pod.owner), Mounts: mounts,
	}), nil, nil, p.name(pod.Name))
	if err != nil {
		return fmt.Errorf("make the container of %s: %w", pod.Name, err)
	}
	pod.process = process{
		engine: p.engine, name: pod.Name, id: made.ID,
		log: p.logPath(pod.Name),
	}
	return nil
}

// startAgent makes the agent's container, starts it and waits for its report.
func (p *project) startAgent(ctx context.Context, pod *pod) error {
	config := &container.Config{
		Image: p.image, Cmd: []string{"agent", "--subnet=" + p.subnet.String(), "--gateway=" + hostAt(p.subnet, gateway).String()}, User: "0:0", Hostname: pod.Name, Labels: p.labels,
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	}
	host := p.hardened(container.HostConfig{
		NetworkMode: container.NetworkMode(p.network), CapAdd: []string{"NET_ADMIN", "NET_RAW"},
	})
	port := nat.Port(fmt.Sprintf("%d/tcp", httpPort))
	if pod.Number > 0 { // a broker: the harness calls it
		config.ExposedPorts = nat.PortSet{port: {}}
		host.PortBindings = nat.PortMap{port: {{HostIP: "127.0.0.1"}}}
	}
	made, err := p.engine.api.ContainerCreate(ctx, config, host, &network.NetworkingConfig{
		EndpointsConfig: map[string]*network.EndpointSettings{p.network: {
			IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: pod.address.String()},
			Aliases:    []string{pod.Name},
		}},
	}, nil, p.name(pod.Name)+"-pod")
	if err != nil {
		return fmt.Errorf("make its container: %w", err)
	}
	pod.owner = made.ID
	if pod.stream, err = p.engine.attach(ctx, made.ID); err != nil {
		return fmt.Errorf("attach to its container: %w", err)
	}
	if pod.log, err = os.Create(filepath.Join(p.dir, "logs", pod.Name+".agent.log")); err != nil {
		return fmt.Errorf("open its log: %w", err)
	}
	out, w := io.Pipe()
	go func() {
		_, err := stdcopy.StdCopy(w, pod.log, pod.stream.Reader)
		w.CloseWithError(err)
	}()
	pod.agent = agent.NewClient(struct {
		io.Reader
		io.Writer
	}{out, pod.stream.Conn}, func(a agent.Answer) { fmt.Fprintf(pod.log, "%s: %s\n", a.Op, a.Err) })
	if err := p.engine.start(ctx, made.ID); err != nil {
		return fmt.Errorf("start its container: %w", err)
	}
	if pod.Number > 0 {
		if pod.call, err = p.engine.published(ctx, made.ID, port); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, reportWithin)
	defer cancel()
	pod.report, err = pod.agent.Report(ctx)
	return err
}

// hardened adds what all containers of the run have: no privilege that is not
// named, nothing written but to volumes, logs that do not fill the disk.
func (p *project) hardened(h container.HostConfig) *container.HostConfig {
	noInit := false
	h.Init = &noInit // the program is the process, and gets its signals
	h.ReadonlyRootfs = true
	h.CapDrop = []string{"ALL"}
	h.SecurityOpt = []string{"no-new-privileges"}
	h.LogConfig = container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "8m", "max-file": "2"}}
	return &h
}

// published tells where this machine reaches a port of a running container.
func (e *Engine) published(ctx context.Context, id string, port nat.Port) (string, error) {
	seen, err := e.api.ContainerInspect(ctx, id)
	if err != nil {
		return "", fmt.Errorf("look up its port: %w", err)
	}
	for _, b := range seen.NetworkSettings.Ports[port] {
		if b.HostIP == "127.0.0.1" {
			return b.HostIP + ":" + b.HostPort, nil
		}
	}
	return "", fmt.Errorf("the engine published no port for %s", port)
}

// howItEnded tells, for people, how a container has ended.
func (p *project) howItEnded(ctx context.Context, id string) string {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	ended, failed := p.engine.api.ContainerWait(ctx, id, container.WaitConditionNotRunning)
	select {
	case end := <-ended:
		return exitOf(int(end.StatusCode), false).How
	case err := <-failed:
		return "nobody knows how: " + err.Error()
	}
}

// close lets go of the agent, which ends by that.
func (p *pod) close() error {
	if p.stream.Conn == nil {
		return nil
	}
	p.stream.Close()
	if p.agent != nil {
		<-p.agent.Done()
	}
	if p.log == nil {
		return nil
	}
	if err := p.log.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the log of the agent of %s: %w", p.Name, err)
	}
	return nil
}
