// Package server is the agent in a pod: it carries out what the lines of its
// standard input ask for, on the network namespace it runs in, and answers on
// its standard output. It owns the namespace's faults: what is imposed, under
// which ref. It needs root, CAP_NET_ADMIN, and CAP_NET_RAW for duplicates; what
// it lacks stands in its report, and requests that need it are refused.
//
//	err := server.Serve(ctx, os.Stdin, os.Stdout, server.Options{
//		Network: rules.Network{Subnet: subnet, Gateway: gateway, Own: own},
//	})
//
// It heals everything when its input ends. Were it killed, its rules would stay
// and packets for the shaper would pass; the next agent of the namespace begins
// with no rules.
package server
