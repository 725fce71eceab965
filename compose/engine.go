package compose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"
)

// ErrNoEngine means that no Docker engine answers: nothing can run in the
// Docker world here.
var ErrNoEngine = errors.New("no Docker engine answers")

// helloWithin is how long an engine may take for its first answer, which counts
// all its containers. One that makes some for others is slow.
const helloWithin = 20 * time.Second

// Engine is a connection to a Docker engine. It is safe for concurrent use.
type Engine struct {
	api  *client.Client
	info system.Info
}

// Facts are what an engine says of itself, for people.
type Facts struct {
	Version       string `json:"version"`
	API           string `json:"api"` // the version that is spoken with it
	System        string `json:"system"`
	Kernel        string `json:"kernel"`
	Architecture  string `json:"architecture"`
	Cgroup        string `json:"cgroup"` // version, 1 or 2
	StorageDriver string `json:"storage_driver"`
	Processors    int    `json:"processors"`
	Memory        int64  `json:"memory"` // bytes
}

// Connect finds the engine as Docker's own command line does, by DOCKER_HOST
// and its companions, and agrees on a version with it. The error is ErrNoEngine
// when none answers.
func Connect(ctx context.Context) (*Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	info, err := api.Info(ctx) // negotiates as a side effect
	if err != nil {
		return nil, errors.Join(noEngine(api.DaemonHost(), err), api.Close())
	}
	e := &Engine{api: api, info: info}
	if info.OSType != "linux" {
		return nil, errors.Join(fmt.Errorf("the Docker engine at %s runs %s containers; switch it to Linux containers", api.DaemonHost(), info.OSType), api.Close())
	}
	return e, nil
}

// noEngine says what to do about an engine that gave no first answer.
func noEngine(at string, err error) error {
	if errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "permission denied") { // the client does not always wrap it
		return fmt.Errorf("%w to this user at %s, who has no permission for it; run this as root or as a user of the group that owns it, often docker, or point DOCKER_HOST to another: %w", ErrNoEngine, at, err)
	}
	return fmt.Errorf("%w at %s: %w; start one (dockerd, or Docker Desktop), or point DOCKER_HOST to it", ErrNoEngine, at, err)
}

// Close ends the connection.
func (e *Engine) Close() error { return e.api.Close() }

// Facts returns what the engine said of itself when it was connected to.
func (e *Engine) Facts() Facts {
	return Facts{
		Version: e.info.ServerVersion, API: e.api.ClientVersion(),
		System: e.info.OperatingSystem, Kernel: e.info.KernelVersion, Architecture: architecture(e.info.Architecture),
		Cgroup: e.info.CgroupVersion, StorageDriver: e.info.Driver,
		Processors: e.info.NCPU, Memory: e.info.MemTotal,
	}
}

// architecture turns the kernel's name of an architecture into Go's.
func architecture(kernel string) string {
	switch strings.ToLower(kernel) {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return kernel
}
