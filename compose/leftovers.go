package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// State is what is known of the process that leads a run.
type State string

// The states of a run.
const (
	Alive     State = "running"                    // its harness lives
	Dead      State = "its harness is gone"        // what it made is left over
	Elsewhere State = "led from another machine"   // by the name of the machine; nobody here can tell whether it lives
	Unsigned  State = "by whom cannot be read off" // somebody else uses our label
)

// Run is what the engine holds of one run. The objects are in the order of
// their names.
type Run struct {
	ID         string   `json:"run"`
	State      State    `json:"state"`
	Owner      string   `json:"owner"` // pid:start of its harness
	Containers []string `json:"containers,omitempty"`
	Networks   []string `json:"networks,omitempty"`
	Volumes    []string `json:"volumes,omitempty"`
	Images     []string `json:"images,omitempty"`
}

// Runs lists the runs that the engine holds something of, in the order of their
// ids.
func (e *Engine) Runs(ctx context.Context) ([]Run, error) {
	runs := map[string]*Run{}
	ours := filters.NewArgs(filters.Arg("label", labelRun))
	containers, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	for _, c := range containers {
		r := enter(runs, c.Labels)
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		r.Containers = append(r.Containers, name)
	}
	networks, err := e.api.NetworkList(ctx, network.ListOptions{Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks {
		r := enter(runs, n.Labels)
		r.Networks = append(r.Networks, n.Name)
	}
	volumes, err := e.api.VolumeList(ctx, volume.ListOptions{Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range volumes.Volumes {
		r := enter(runs, v.Labels)
		r.Volumes = append(r.Volumes, v.Name)
	}
	images, err := e.api.ImageList(ctx, image.ListOptions{Filters: ours})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	for _, i := range images {
		r := enter(runs, i.Labels)
		r.Images = append(r.Images, append(i.RepoTags, i.ID)[0])
	}
	var list []Run
	for _, r := range runs {
		for _, names := range [][]string{r.Containers, r.Networks, r.Volumes, r.Images} {
			slices.Sort(names)
		}
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Owner, b.Owner))
	})
	return list, nil
}

// enter returns the run that an object with these labels is of. Two harnesses
// that use one id are two runs.
func enter(runs map[string]*Run, labels map[string]string) *Run {
	key := strings.Join([]string{labels[labelRun], labels[labelOwner], labels[labelMachine]}, "\x00")
	r := runs[key]
	if r == nil {
		r = &Run{ID: labels[labelRun], Owner: labels[labelOwner], State: stateOf(labels)}
		runs[key] = r
	}
	return r
}

func stateOf(labels map[string]string) State {
	o, ok := ownerOf(labels)
	switch {
	case !ok:
		return Unsigned
	case o.machine != machine():
		return Elsewhere
	case o.dead():
		return Dead
	}
	return Alive
}

// Sweep removes what runs left behind whose harness is gone, and returns those
// runs. It touches nothing else. Two sweeps at once do no harm.
func (e *Engine) Sweep(ctx context.Context) ([]Run, error) {
	return e.Clear(ctx, func(r Run) bool { return r.State == Dead })
}

// What a harness had asked for when it was killed the engine goes on to make.
const (
	settle = 300 * time.Millisecond // how long it may take for that
	rounds = 5                      // how often it is looked for
)

// Clear removes every run that is wanted, and looks again until none of them
// has anything left. It returns what it has removed.
func (e *Engine) Clear(ctx context.Context, wanted func(Run) bool) ([]Run, error) {
	var cleared []Run
	for range rounds {
		runs, err := e.Runs(ctx)
		if err != nil {
			return cleared, fmt.Errorf("look for what runs left: %w", err)
		}
		runs = slices.DeleteFunc(runs, func(r Run) bool { return !wanted(r) })
		if len(runs) == 0 {
			break
		}
		for _, r := range runs {
			if err := e.Remove(ctx, r); err != nil {
				return cleared, err
			}
			cleared = addTo(cleared, r)
		}
		select {
		case <-ctx.Done():
			return cleared, ctx.Err()
		case <-time.After(settle):
		}
	}
	return cleared, nil
}

// addTo adds what was found of a run to what was found of it before.
func addTo(list []Run, r Run) []Run {
	i := slices.IndexFunc(list, func(other Run) bool { return other.ID == r.ID && other.Owner == r.Owner })
	if i < 0 {
		return append(list, r)
	}
	was := &list[i]
	was.Containers = append(was.Containers, r.Containers...)
	was.Networks = append(was.Networks, r.Networks...)
	was.Volumes = append(was.Volumes, r.Volumes...)
	was.Images = append(was.Images, r.Images...)
	return list
}

// removeWithin bounds the removal of one object. The engine takes its time to
// end processes and to let go of what they used.
const removeWithin = 2 * time.Minute

// Remove removes everything that is listed in r, and goes on whatever fails.
func (e *Engine) Remove(ctx context.Context, r Run) error {
	err := parallel(r.Containers, func(name string) error {
		return insist(ctx, "container "+name, func(ctx context.Context) error {
			return e.api.ContainerRemove(ctx, name, container.RemoveOptions{Force: true, RemoveVolumes: true})
		})
	})
	errs := []error{briefly(err)}
	for _, name := range r.Networks {
		errs = append(errs, insist(ctx, "network "+name, func(ctx context.Context) error { return e.api.NetworkRemove(ctx, name) }))
	}
	for _, name := range r.Volumes {
		errs = append(errs, insist(ctx, "volume "+name, func(ctx context.Context) error { return e.api.VolumeRemove(ctx, name, false) }))
	}
	for _, name := range r.Images {
		errs = append(errs, insist(ctx, "image "+name, func(ctx context.Context) error {
			_, err := e.api.ImageRemove(ctx, name, image.RemoveOptions{Force: true, PruneChildren: true})
			return err
		}))
	}
	return errors.Join(errs...)
}

// briefly names the first of several errors only: an engine that does not answer
// says the same of every container.
func briefly(err error) error {
	all, several := err.(interface{ Unwrap() []error })
	if !several || len(all.Unwrap()) < 2 {
		return err
	}
	return fmt.Errorf("%w (the same befell %d more; pestle down removes them once the engine answers)", all.Unwrap()[0], len(all.Unwrap())-1)
}

// insist removes one object, again and again while the engine says that it is
// in use or on its way out, until it is gone.
func insist(ctx context.Context, what string, remove func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	for {
		err := remove(ctx)
		switch {
		case err == nil || errdefs.IsNotFound(err):
			return nil
		case !errdefs.IsConflict(err) && !strings.Contains(err.Error(), "has active endpoints"):
			return fmt.Errorf("remove %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove %s: %w", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Words tells in one line what is there of a run.
func (r Run) Words() string {
	var parts []string
	for _, kind := range []struct {
		name string
		list []string
	}{{"container", r.Containers}, {"network", r.Networks}, {"volume", r.Volumes}, {"image", r.Images}} {
		switch n := len(kind.list); n {
		case 0:
		case 1:
			parts = append(parts, "1 "+kind.name)
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n, kind.name))
		}
	}
	return fmt.Sprintf("%s: %s", r.ID, strings.Join(parts, ", "))
}
