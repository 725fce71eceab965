package conductor

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"pestle/faults"
	"pestle/scenarios"
)

// PlanName is the plan's file in a run directory; the workload reads it.
const PlanName = "plan.json"

// Layout is what a run consists of: the processes that a Host has to be able
// to start.
type Layout struct {
	Plan scenarios.Plan
	Dir  string // run directory on this machine, absolute, with plan.json, history/, logs/, state/ and data/<broker>/ in it

	// Processes has the brokers in the order of their numbers, those that replace
	// others last, then the consumers and the producers. A target that the
	// harness does not start has no brokers here.
	Processes []Process
}

// Process is one process of a run over all its incarnations.
type Process struct {
	Name   string
	Role   faults.Role
	Number int  // of a broker, from 1: its node id
	Spare  bool // a broker that is to replace another one
}

// Site is how the processes see the place they live in.
type Site struct {
	Program string                     // Pestle's own binary
	Dir     string                     // the run directory
	Address func(broker int) Endpoints // from 1
	Broker  []string                   // flags for each of Pestle's brokers beside those of the plan
	Quiet   string                     // path of the stop-faults command
}

// newLayout returns the processes of a plan.
func newLayout(plan scenarios.Plan, dir string) Layout {
	l := Layout{Plan: plan, Dir: dir}
	if plan.Target.Address == "" {
		size := max(plan.Target.Nodes, 1)
		for n := 1; n <= size+replacements(plan.Faults); n++ {
			l.Processes = append(l.Processes, Process{Name: brokerName(n), Role: faults.Broker, Number: n, Spare: n > size})
		}
	}
	for _, c := range plan.Workload.Consumers {
		l.Processes = append(l.Processes, Process{Name: c.Name, Role: faults.Consumer})
	}
	for _, p := range plan.Workload.Producers {
		l.Processes = append(l.Processes, Process{Name: p.Name, Role: faults.Producer})
	}
	return l
}

// makeDirs makes the directories of the run.
func (l Layout) makeDirs() error {
	dirs := []string{"history", "logs", "state"}
	for _, p := range l.Processes {
		if p.Role == faults.Broker {
			dirs = append(dirs, filepath.Join("data", p.Name))
		}
	}
	for _, sub := range dirs {
		if err := os.MkdirAll(filepath.Join(l.Dir, sub), 0o755); err != nil {
			return fmt.Errorf("make the run directory: %w", err)
		}
	}
	return nil
}

// Command returns the program of a process and its arguments, the same at every
// start. A broker has to be Pestle's own.
func (l Layout) Command(p Process, at Site) []string {
	if p.Role == faults.Broker {
		return l.broker(p, at)
	}
	args := []string{
		at.Program, "workload", string(p.Role),
		"--plan", path.Join(at.Dir, PlanName), "--dir", at.Dir, "--name", p.Name,
	}
	for n := range max(l.brokers(), 1) { // one that the harness does not start is number 1
		args = append(args, "--nsqd-tcp-address", at.Address(n+1).TCP)
	}
	return args
}

func (l Layout) broker(p Process, at Site) []string {
	t, own := l.Plan.Target, at.Address(p.Number)
	args := []string{
		at.Program, "broker",
		"--tcp-address=" + own.TCP, "--http-address=" + own.HTTP,
		"--data-path=" + at.DataDir(p.Name), "--durability=" + t.Durability,
	}
	if t.Nodes > 1 {
		args = append(args, "--node-id="+strconv.Itoa(p.Number), "--peer-address="+own.Peer, "--cluster="+l.cluster(at))
	}
	if p.Spare {
		args = append(args, "--join")
	}
	if k := t.Knobs; k != nil {
		args = append(args, fmt.Sprintf("--journal-file-size=%d", k.FileSize), fmt.Sprintf("--cache-bytes=%d", k.Cache))
		if k.Log > 0 {
			args = append(args, fmt.Sprintf("--log-bytes=%d", k.Log))
		}
	}
	if t.Disk != "" {
		args = append(args, "--chaos-disk="+t.Disk)
	}
	args = append(args, at.Broker...)
	args = append(args, t.Flags...)
	if t.Plant != "" {
		args = append(args, "--plant="+t.Plant)
	}
	return args
}

// DataDir is the directory of a broker's files, as the processes see it.
func (s Site) DataDir(broker string) string { return path.Join(s.Dir, "data", broker) }

// cluster lists the brokers that the cluster begins with.
func (l Layout) cluster(at Site) string {
	var members []string
	for _, p := range l.Processes {
		if p.Role == faults.Broker && !p.Spare {
			members = append(members, fmt.Sprintf("%d=%s", p.Number, at.Address(p.Number).Peer))
		}
	}
	return strings.Join(members, ",")
}

// brokers counts those that the harness starts.
func (l Layout) brokers() int {
	n := 0
	for _, p := range l.Processes {
		if p.Role == faults.Broker {
			n++
		}
	}
	return n
}

// brokerName is the name of the broker process n, from 1.
func brokerName(n int) string { return fmt.Sprintf("%s-%d", faults.Broker, n) }

// replacements counts the brokers that are replaced.
func replacements(list []faults.Fault) int {
	n := 0
	for _, f := range list {
		if f.Kind == faults.Replace {
			n++
		}
	}
	return n
}
