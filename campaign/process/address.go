package process

import (
	"fmt"
	"os"
)

// The ports of broker 1 on the run's own loopback address, NSQ's usual ones.
const (
	tcpPort  = 4150
	httpPort = 4151
)

// loopback returns the address of the run led by the process pid. The first
// free octet starts at 64: 127.0.0.1 and its neighbours are in everybody's
// use. Linux pids fit 22 bits, so no two living processes share an address.
func loopback(pid int) string {
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>16&63, pid>>8&255, pid&255)
}

// endpoints returns the TCP and HTTP address of the run's broker.
func endpoints() (tcp, http string) {
	host := loopback(os.Getpid())
	return fmt.Sprintf("%s:%d", host, tcpPort), fmt.Sprintf("%s:%d", host, httpPort)
}
