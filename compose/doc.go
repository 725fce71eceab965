// Package compose is the Docker world: it puts every process of a run into a
// container, with a network namespace of its own that faults can act upon, and
// takes everything away again.
//
// Each process is a pod of two containers. The agent container owns the
// network namespace and its address, and runs `pestle agent`, which carries
// network faults out; the process container joins that namespace, has no
// privileges at all, and is killed and started at will while the namespace, its
// address and its faults stay. All containers run one image, made of one static
// program: Pestle itself, built with the tag chaos.
//
// History, state, logs and data stay in the run directory, through volumes
// bound there, so that the harness reads them as files.
//
// It owns every Docker object with the label pestle.run of its own run, and
// those of runs whose harness is dead. It never touches any other object, never
// judges, and never decides when a fault begins.
//
//	engine, err := compose.Connect(ctx)
//	defer engine.Close()
//	removed, err := engine.Sweep(ctx)      // what dead runs left behind
//	host := compose.New(compose.Options{Engine: engine, Program: path})
//	outcome, err := conductor.New(conductor.Options{Host: host, Plan: plan}).Run(ctx)
package compose
