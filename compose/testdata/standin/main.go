// Command standin stands in for Pestle in the containers of this package's
// tests: a small program that is built in a moment, and does what it is told.
package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"pestle/compose/hog"
	"pestle/faults/agent"
)

func main() {
	switch os.Args[1] {
	case "agent":
		obey()
	case "broker":
		serve()
	case "workload":
		listen()
	case "hog":
		fmt.Println(hog.Starve(1, 1<<30))
	}
}

// obey answers every request as an agent that can do everything.
func obey() {
	report := agent.Answer{Op: agent.Report}
	for _, name := range []string{agent.NFT, agent.Rejects, agent.Destroy, agent.NFQueue, agent.RawSock} {
		report.Abilities = append(report.Abilities, agent.Ability{Name: name, OK: true})
	}
	say(report)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		r, err := agent.ParseRequest(lines.Bytes())
		a := agent.Answer{ID: r.ID, Op: r.Op, At: 1}
		if err != nil {
			a.Err = err.Error()
		}
		fmt.Fprintf(os.Stderr, "%s %d %v\n", r.Op, r.Ref, r.Peers)
		say(a)
	}
}

func say(a agent.Answer) {
	if err := agent.WriteAnswer(os.Stdout, a); err != nil {
		os.Exit(1)
	}
}

// serve answers on the HTTP address of its arguments, and leaves its mark in
// its data directory.
func serve() {
	var address, data string
	for _, arg := range os.Args[2:] {
		if a, ok := strings.CutPrefix(arg, "--http-address="); ok {
			address = a
		}
		if d, ok := strings.CutPrefix(arg, "--data-path="); ok {
			data = d
		}
	}
	host, _ := os.Hostname()
	fmt.Printf("uid %d on %s\n", os.Getuid(), host)
	if err := os.WriteFile(data+"/mark", []byte("here"), 0o600); err != nil {
		fmt.Println("fatal error:", err)
		os.Exit(2)
	}
	if err := os.WriteFile("/elsewhere", nil, 0o600); err == nil {
		fmt.Println("the root file system can be written to")
	}
	fmt.Println(http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "OK") })))
}

var count int

// listen repeats what it is told; some words it follows.
func listen() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		fmt.Println("asked to stop")
		os.Exit(0)
	}()
	fmt.Println("begun")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch line := lines.Text(); line {
		case "count":
			go func() {
				for {
					count++
				}
			}()
		case "fail":
			// Much is said at the end: all of it has to be in the log.
			fmt.Println(strings.Repeat("failing\n", 100_000))
			fmt.Println("failing")
			os.Exit(3)
		default:
			fmt.Println("told", line)
		}
	}
	fmt.Println("alone")
	os.Exit(2)
}
