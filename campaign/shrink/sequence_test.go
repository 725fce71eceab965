package shrink

import (
	"fmt"
	"strings"
	"testing"

	"pestle/checker"
	"pestle/history"
	"pestle/sim"
)

func TestSequence(t *testing.T) {
	p := example(t)
	p.Workload.Producers = p.Workload.Producers[:1]
	p.Workload.Consumers = p.Workload.Consumers[:1]
	ms := func(n int64) int64 { return n * millisecond }
	events := []history.Event{
		{T: ms(0), Src: "harness", Ev: history.Phase, What: history.PhaseBoot},
		{T: ms(1), Src: "producer-1", Ev: history.Attempt, ID: "producer-1-1", Try: 1},
		{T: ms(2), Src: "producer-1", Ev: history.Attempt, ID: "producer-1-2", Try: 1},
		{T: ms(5), Src: "producer-1", Ev: history.Ack, ID: "producer-1-2", Try: 1},
		{T: ms(7), Src: "harness", Ev: history.Fault, What: "power-loss", Target: "broker-1", Edge: history.EdgeEffective, Ref: 1},
		{T: ms(9), Src: "harness", Ev: history.Fault, What: "power-loss", Target: "broker-1", Edge: history.EdgeEnded, Ref: 1},
		{T: ms(11), Src: "consumer-a-1", Ev: history.Consume, ID: "producer-1-2", Pos: "07", Attempts: 1},
		{T: ms(12), Src: "consumer-a-1", Ev: history.Requeue, ID: "producer-1-2"},
		{T: ms(13), Src: "consumer-a-1", Ev: history.Finish, ID: "producer-1-2"},
		{T: ms(14), Src: "producer-1", Ev: history.Unknown, ID: "producer-1-2", Text: "no answer in time"},
		{T: ms(15), Src: "harness", Ev: history.Note, What: history.NoteExited, Target: "broker-1", Text: "sync failed"},
		{T: ms(16), Src: "producer-1", Ev: history.Note, What: history.NoteGaveUp, ID: "producer-1-2"},
	}
	moments := []sim.Moment{
		{T: ms(3), Who: "broker-1", What: "event connection 1 data 99 bytes producer-1-2"},
		{T: ms(3), Who: "broker-1", What: "effect write file 1 at 64 99 bytes producer-1-2"},
		{T: ms(4), Who: "broker-1", What: "disk write of file 1 at 64 is done"},
		{T: ms(4), Who: "producer-1", What: "effect send producer-1-2 try 1"},
		{T: ms(7), Who: "broker-1", What: "end 1"},
		{T: ms(8), Who: "broker-1", What: "start 2"},
		{T: ms(10), Who: "broker-1", What: "effect send on connection 2 99 bytes producer-1-2"},
	}
	symptom := Symptom{wanted, checker.Violation{Detail: "producer-1-2 is gone"}}
	const want = `no-data-loss: acked but gone
producer-1-2 is gone

     seconds  producer-1   broker-1   disk   consumer-a-1
    0.002000       o----------->        |          |        sends producer-1-2, try 1
    0.003000       |           o        |          |        reads from connection 1 data 99 bytes producer-1-2
    0.003000       |           o-------->          |        writes file 1 at 64 99 bytes producer-1-2
    0.004000       |           <--------o          |        write of file 1 at 64 is done
    0.005000       <-----------o        |          |        acknowledges producer-1-2, try 1
    0.007000       |           X        |          |        power-loss takes effect
    0.007000       |           X        |          |        ends, incarnation 1
    0.008000       |           ^        |          |        starts, incarnation 2
    0.009000       |           ^        |          |        power-loss is over
    0.010000       |           o        |          |        sends on connection 2 99 bytes producer-1-2
    0.011000       |           o------------------->        delivers producer-1-2, position 07, attempts 1
    0.012000       |           <-------------------o        gives back producer-1-2
    0.013000       |           <-------------------o        finishes producer-1-2
    0.014000       o           |        |          |        producer-1-2 is unknown: no answer in time
    0.015000       |           X        |          |        ends by itself: sync failed
`
	if got := sequence(p, symptom, []string{"producer-1-2"}, events, moments); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// Without a look inside the broker there is no lane for its disk; times count
// from the first event.
func TestSequenceOfRealProcesses(t *testing.T) {
	p := example(t)
	p.Workload.Producers = p.Workload.Producers[:1]
	p.Workload.Consumers = p.Workload.Consumers[:1]
	const day = 86_400 * second
	events := []history.Event{
		{T: day, Src: "harness", Ev: history.Phase, What: history.PhaseBoot},
		{T: day + second, Src: "consumer-a-1", Ev: history.Consume, ID: "producer-1-2", Pos: "07", Attempts: 1},
	}
	const want = `
     seconds  producer-1   broker-1   consumer-a-1
    1.000000       |           o------------>        delivers producer-1-2, position 07, attempts 1
`
	if got := sequence(p, Symptom{}, []string{"producer-1-2"}, events, nil); !strings.HasSuffix(got, want) {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// Of a long story the end is told.
func TestSequenceIsBounded(t *testing.T) {
	var events []history.Event
	for i := range 100 {
		events = append(events, history.Event{T: int64(i), Src: "producer-1", Ev: history.Attempt, ID: "producer-1-1", Try: i + 1})
	}
	events = append(events, history.Event{T: 200, Src: "producer-1", Ev: history.Unknown, ID: "producer-1-1", Text: strings.Repeat("x", 1000)})
	got := sequence(example(t), Symptom{}, []string{"producer-1-1"}, events, nil)
	if !strings.Contains(got, "(41 earlier rows are not shown)") || strings.Contains(got, "try 41\n") || !strings.Contains(got, "try 42\n") || !strings.Contains(got, fmt.Sprintf("try %d\n", 100)) || !strings.HasSuffix(got, "xxx …\n") || strings.Contains(got, strings.Repeat("x", maxText)) {
		t.Error(got)
	}
}
