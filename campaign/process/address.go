package process

import (
	"fmt"
	"os"

	"pestle/campaign/conductor"
)

// The ports of broker 1 on the run's own loopback address: NSQ's usual ones,
// and one for the other brokers. Those of broker 2 are portStep further, and so
// on. They are below the range that outgoing connections take theirs from.
const (
	tcpPort  = 4150
	httpPort = 4151
	peerPort = 4152
	portStep = 10
)

// loopback returns the address of the run led by the process pid. The first
// free octet starts at 64: 127.0.0.1 and its neighbours are in everybody's
// use. Linux pids fit 22 bits, so no two living processes share an address.
func loopback(pid int) string {
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&63, pid>>8&255, pid&255)
}

// endpointsOf returns the addresses of the run's broker n, from 1.
func endpointsOf(n int) conductor.Endpoints {
	host, step := loopback(os.Getpid()), (n-1)*portStep
	at := func(port int) string { return fmt.Sprintf("%s:%d", host, port+step) }
	return conductor.Endpoints{Call: at(httpPort), TCP: at(tcpPort), HTTP: at(httpPort), Peer: at(peerPort)}
}
