package compose

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"pestle/campaign/conductor"
	"pestle/compose/program"
	"pestle/faults"
	"pestle/workload/antithesis/quiet"
)

// The ports of every broker, each at an address of its own: NSQ's usual ones,
// one for the other brokers, and one for its control, which only its own pod
// reaches.
const (
	tcpPort     = 4150
	httpPort    = 4151
	peerPort    = 4152
	controlPort = 4159
)

// ordinaryUser is who processes run as when the harness is root: nobody in
// particular, as in images that are made to run without privileges. Another
// harness has its processes run as itself, so that it can read and remove what
// they write.
const ordinaryUser = 65532

// Options say how the Docker world is set up.
type Options struct {
	Program  string       // static program for the containers; "": it is found or built
	Progress func(string) // gets a line before something that takes a while, and about what dead runs left; nil: nobody wants it
}

// Host is the Docker world as the conductor drives it: a conductor.Host. It is
// for one run.
type Host struct {
	options Options
	engine  *Engine
	owner   owner
	project project
	layout  conductor.Layout
	pods    []*pod
	byName  map[string]*pod

	ctx        context.Context // of everything in the background
	cancel     context.CancelFunc
	background sync.WaitGroup
	exits      chan conductor.Exit
	actuations chan conductor.Actuation
	powerless  map[string]int // process that lost its power and is silent since → that fault's ref
	evidence   *evidence
}

var _ conductor.Host = (*Host)(nil)

// New returns the host of one run.
func New(o Options) *Host {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	h := &Host{
		options: o, byName: map[string]*pod{}, powerless: map[string]int{},
		exits: make(chan conductor.Exit, 64), actuations: make(chan conductor.Actuation, 64),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Prepare connects to the engine, removes what dead runs left there, and makes
// the image, the network, the volumes and the pods of this run, whose agents
// run then.
func (h *Host) Prepare(ctx context.Context, l conductor.Layout) error {
	if l.Plan.Target.Kind != "pestle" {
		return fmt.Errorf("%w: the Docker world has containers of Pestle's broker only, not of %s", conductor.ErrTargetMissing, l.Plan.Target.Kind)
	}
	h.layout = l
	var err error
	if h.owner, err = self(); err != nil {
		return err
	}
	if h.engine, err = Connect(ctx); err != nil {
		return err
	}
	swept, err := h.engine.Sweep(ctx)
	for _, r := range swept {
		h.options.Progress("removed what a dead run left: " + r.Words())
	}
	if err != nil {
		return err
	}
	if h.options.Program == "" {
		h.options.Program, err = program.Find(ctx, program.Wanted{Arch: h.engine.Facts().Architecture, Progress: h.options.Progress})
		if err != nil {
			return err
		}
	}
	if err := h.makeProject(ctx); err != nil {
		return err
	}
	if err := h.makePods(ctx); err != nil {
		return err
	}
	for _, p := range h.pods {
		h.background.Go(func() { h.guard(p) })
	}
	return nil
}

// guard ends the run when an agent does that nobody has ended. Its pod's network
// goes on as it was, so a run that did not look would judge what no fault has
// touched.
func (h *Host) guard(p *pod) {
	select {
	case <-p.agent.Done():
	case <-h.ctx.Done():
		return
	}
	how := h.project.howItEnded(h.ctx, p.owner)
	select {
	case h.exits <- conductor.Exit{Process: p.Name, Err: fmt.Errorf("its agent, the container %s-pod that owns its network, has ended (%s); its log ends: %s",
		h.project.name(p.Name), how, conductor.LastWords(p.log.Name()))}:
	case <-h.ctx.Done():
	}
}

// stepWithin bounds one step of the preparation.
const stepWithin = 3 * time.Minute

// whole returns the context of a step that is finished also when the run is
// given up meanwhile: what the engine was asked for it would make all the same,
// after everything was removed.
func whole(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stepWithin)
}

// makeProject makes what all containers of the run have in common.
func (h *Host) makeProject(ctx context.Context) error {
	ctx, cancel := whole(ctx)
	defer cancel()
	run := runID(h.layout.Dir)
	h.project = project{
		engine: h.engine, run: run, dir: h.layout.Dir,
		labels: h.owner.labels(run), user: userOf(os.Geteuid(), os.Getegid()),
	}
	p := &h.project
	p.network = p.name("net")
	var err error
	if h.evidence, err = h.engine.watch(h.ctx, run, filepath.Join(h.layout.Dir, eventsName)); err != nil {
		return err
	}
	if err := ownDirs(h.layout); err != nil {
		return err
	}
	return parallel([]func() error{
		func() (err error) {
			p.image, err = h.engine.importImage(ctx, h.options.Program, run, p.labels)
			return err
		},
		func() (err error) {
			p.subnet, err = h.engine.makeNetwork(ctx, p.network, run, p.labels)
			return err
		},
		func() error { return h.makeVolumes(ctx) },
	}, func(step func() error) error { return step() })
}

// makeVolumes binds the parts of the run directory that containers write to.
func (h *Host) makeVolumes(ctx context.Context) error {
	dirs := map[string]string{"history": "history", "state": "state", "quiet": quiet.Dir}
	for _, p := range h.layout.Processes {
		if p.Role == faults.Broker {
			dirs[p.Name] = filepath.Join("data", p.Name)
		}
	}
	for name, dir := range dirs {
		_, err := h.engine.api.VolumeCreate(ctx, volume.CreateOptions{
			Name: h.project.name(name), Driver: "local", Labels: h.project.labels,
			DriverOpts: map[string]string{"type": "none", "o": "bind", "device": filepath.Join(h.layout.Dir, dir)},
		})
		if err != nil {
			return fmt.Errorf("make the volume of %s: %w", dir, err)
		}
	}
	return nil
}

// makePods gives every process its address and makes its containers.
func (h *Host) makePods(ctx context.Context) error {
	for n, process := range h.layout.Processes {
		address, err := assign(h.project.subnet, n)
		if err != nil {
			return err
		}
		pod := &pod{Process: process, address: address}
		h.pods = append(h.pods, pod)
		h.byName[process.Name] = pod
	}
	site := conductor.Site{
		Program: programPath, Dir: runPath, Address: h.Address,
		Broker: h.brokerFlags(), Quiet: stopFaultsPath,
	}
	return parallel(h.pods, func(p *pod) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ctx, cancel := whole(ctx)
		defer cancel()
		return h.project.makePod(ctx, p, h.layout.Command(p.Process, site), h.layout.Environment(p.Process, site), h.mounts(p.Process))
	})
}

// mounts are the parts of the run directory that a process has.
func (h *Host) mounts(p conductor.Process) []mount.Mount {
	if p.Role == faults.Broker {
		return []mount.Mount{{Type: mount.TypeVolume, Source: h.project.name(p.Name), Target: runPath + "/data/" + p.Name}}
	}
	return []mount.Mount{
		{Type: mount.TypeVolume, Source: h.project.name("history"), Target: runPath + "/history"},
		{Type: mount.TypeVolume, Source: h.project.name("state"), Target: runPath + "/state"},
		{Type: mount.TypeVolume, Source: h.project.name("quiet"), Target: runPath + "/" + quiet.Dir},
		{Type: mount.TypeBind, Source: filepath.Join(h.layout.Dir, conductor.PlanName), Target: runPath + "/" + conductor.PlanName, ReadOnly: true},
	}
}

// Address tells where a broker is reached.
func (h *Host) Address(broker int) conductor.Endpoints {
	for _, p := range h.pods {
		if p.Number == broker {
			at := func(port uint16) string { return netip.AddrPortFrom(p.address, port).String() }
			return conductor.Endpoints{Call: p.call, TCP: at(tcpPort), HTTP: at(httpPort), Peer: at(peerPort)}
		}
	}
	return conductor.Endpoints{}
}

func (h *Host) pod(process string) (*pod, error) {
	p := h.byName[process]
	if p == nil || p.process.id == "" {
		return nil, fmt.Errorf("%s has no container in this run", process)
	}
	return p, nil
}

// Start begins an incarnation of a process.
func (h *Host) Start(process string) error {
	p, err := h.pod(process)
	if err != nil {
		return err
	}
	power := h.power(p)
	before := func(ctx context.Context) error {
		p.troubles.setLive(true) // its files may be being mended: that is waited for
		return power(ctx)
	}
	h.background.Add(1)
	up := p.process.begin(h.ctx, before, func(e conductor.Exit) {
		defer h.background.Done()
		p.troubles.setLive(false)
		select {
		case h.exits <- e:
		case <-h.ctx.Done(): // nobody listens any more
		}
	})
	if p.Role == faults.Broker {
		h.background.Go(func() { h.goOn(p, up) })
	}
	return nil
}

// goOn puts a broker that was started under the faults that go on.
func (h *Host) goOn(p *pod, up <-chan struct{}) {
	select {
	case <-up:
	case <-h.ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, callWithin)
	defer cancel()
	if err := h.again(ctx, p); err != nil {
		select {
		case h.exits <- conductor.Exit{Process: p.Name, Err: err}:
		case <-h.ctx.Done():
		}
	}
}

// LastWords are the last lines of a process's log.
func (h *Host) LastWords(process string) string {
	return conductor.LastWords(h.project.logPath(process))
}

// Signal sends a signal to a process.
func (h *Host) Signal(process string, s syscall.Signal) error {
	p, err := h.pod(process)
	if err != nil {
		return err
	}
	return p.process.signal(h.ctx, s)
}

// Tell writes one control line to a process.
func (h *Host) Tell(process, line string) error {
	p, err := h.pod(process)
	if err != nil {
		return err
	}
	return p.process.tell(h.ctx, line)
}

// Exits has the ends of incarnations.
func (h *Host) Exits() <-chan conductor.Exit { return h.exits }

// Actuations answers Impose and Lift.
func (h *Host) Actuations() <-chan conductor.Actuation { return h.actuations }

// LoseData empties the data directory of a broker. The directory itself stays:
// it is bound into a volume.
func (h *Host) LoseData(broker string) error {
	dir := filepath.Join(h.layout.Dir, "data", broker)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("empty the data directory of %s: %w", broker, err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("empty the data directory of %s: %w", broker, err)
		}
	}
	return nil
}

// closeWithin bounds the removal of everything.
const closeWithin = 4 * time.Minute

// Close removes every Docker object of the run and waits until they are gone.
func (h *Host) Close() error {
	defer h.cancel()
	if h.engine == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	errs := []error{h.removeRun(ctx)}
	h.cancel()
	for _, p := range h.pods {
		errs = append(errs, p.close())
	}
	h.background.Wait()
	if h.evidence != nil {
		errs = append(errs, h.evidence.close())
	}
	return errors.Join(append(errs, h.engine.Close())...)
}

// removeRun removes what the engine holds of this run: whatever it is, also
// what a step that failed half-way has made.
func (h *Host) removeRun(ctx context.Context) error {
	runs, err := h.engine.Runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.ID == h.project.run && r.Owner == h.project.labels[labelOwner] {
			err = errors.Join(err, h.engine.Remove(ctx, r))
		}
	}
	return err
}

// runID turns a run directory into a name for Docker: its last part, and a few
// digits of the whole path, for directories in two places may be named alike.
func runID(dir string) string {
	const longest = 40 // a container's name has the process's behind it, and is a host name somewhere
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, filepath.Base(dir))
	if len(base) > longest {
		base = base[:longest]
	}
	if base = strings.Trim(base, "-"); base == "" {
		base = "run"
	}
	sum := sha256.Sum256([]byte(dir))
	return fmt.Sprintf("%s-%x", base, sum[:3])
}

// userOf tells who the processes run as.
func userOf(uid, gid int) string {
	if uid <= 0 {
		return fmt.Sprintf("%d:%d", ordinaryUser, ordinaryUser)
	}
	return fmt.Sprintf("%d:%d", uid, gid)
}

// ownDirs gives the parts of the run directory that processes write to to the
// user they run as.
func ownDirs(l conductor.Layout) error {
	if os.Geteuid() != 0 {
		return nil // they are its already
	}
	dirs := []string{"history", "state"}
	for _, p := range l.Processes {
		if p.Role == faults.Broker {
			dirs = append(dirs, filepath.Join("data", p.Name))
		}
	}
	for _, dir := range dirs {
		if err := os.Chown(filepath.Join(l.Dir, dir), ordinaryUser, ordinaryUser); err != nil {
			return fmt.Errorf("give %s to the containers' user: %w", dir, err)
		}
	}
	return nil
}
