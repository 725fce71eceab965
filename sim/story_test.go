package sim

import (
	"strings"
	"testing"
)

// A message's way through a cluster: each broker's disk is told until its own
// sync, and what is told knows who told it.
func TestStoryInACluster(t *testing.T) {
	log := []struct {
		line  string
		about bool
		from  uint64
	}{
		{"1 0.000000010 broker-1 effect tell broker-2 300 bytes producer-1-4", true, 0},
		{"2 0.000000010 broker-1 effect tell broker-3 300 bytes producer-1-4", true, 0},
		{"3 0.000000010 broker-1 effect write file 1 at 616480 416 bytes producer-1-4", true, 0},
		{"4 0.000000010 broker-1 effect sync file 1, token 14", true, 0},
		{"5 0.000000011 broker-3 event told 300 bytes producer-1-4", true, 2},
		{"6 0.000000011 broker-3 effect write file 1 at 616480 416 bytes producer-1-4", true, 0},
		{"7 0.000000012 broker-1 disk sync of file 1 at 0 is done", true, 0},
		{"8 0.000000012 broker-1 event synced token 14", true, 0},
		{"9 0.000000013 broker-2 effect sync file 1, token 9", false, 0},
		{"10 0.000000013 broker-3 effect sync file 1, token 9", true, 0},
		{"11 0.000000014 broker-2 event told 300 bytes producer-1-4", true, 1},
		{"12 0.000000014 broker-3 event told 40 bytes", false, 0},
	}
	story := NewStory("producer-1-4")
	for _, l := range log {
		if got := story.Line(l.line); got != l.about {
			t.Errorf("%q: part of the story %v, want %v", l.line, got, l.about)
		} else if got && story.Moments[len(story.Moments)-1].From != l.from {
			t.Errorf("%q: from event %d, want %d", l.line, story.Moments[len(story.Moments)-1].From, l.from)
		}
	}
}

// A message's story has what names it, its way onto the disk, what its
// position names, and the turns of the processes; arrivals know their sends.
func TestStoryOfOneMessage(t *testing.T) {
	log := []struct {
		line  string
		about bool
		from  uint64
	}{
		{"1 0.000000000 broker-1 start 1", true, 0},
		{"2 0.000000010 producer-1 effect history attempt producer-1-4", true, 0},
		{"3 0.000000011 producer-1 effect history attempt producer-1-42", false, 0},
		{"4 0.000000012 producer-1 effect send producer-1-4 try 1", true, 0},
		{"5 0.000000020 broker-1 network connection 2 brings 328 bytes producer-1-4", true, 4},
		{"6 0.000000020 broker-1 effect write file 1 at 616480 416 bytes producer-1-4", true, 0},
		{"7 0.000000020 broker-1 effect sync file 1, token 14", true, 0},
		{"8 0.000000021 broker-1 event connection 3 took 10 bytes", false, 0},
		{"9 0.000000025 broker-1 disk sync of file 1 at 0 is done", true, 0},
		{"10 0.000000025 broker-1 event synced token 14", true, 0},
		{"11 0.000000026 broker-1 effect sync file 1, token 15", false, 0},
		{"12 0.000000026 broker-1 effect send on connection 9 347 bytes producer-1-4", true, 0},
		{"13 0.000000030 consumer-a-1 network connection 9 brings 347 bytes producer-1-4", true, 12},
		{"14 0.000000030 consumer-a-1 event delivery 00001000000002b4 attempts 1 313 bytes producer-1-4", true, 0},
		{"15 0.000000031 consumer-a-1 effect finish 00001000000002b4", true, 0},
		{"16 1.000000000 broker-1 kill effective 3", true, 0},
		{"17 1.100000000 broker-1 start 2", true, 0},
		{"no line of a log", false, 0},
	}
	story := NewStory("producer-1-4")
	for _, l := range log {
		if got := story.Line(l.line); got != l.about {
			t.Errorf("%q: part of the story %v, want %v", l.line, got, l.about)
		} else if got && story.Moments[len(story.Moments)-1].From != l.from {
			t.Errorf("%q: from event %d, want %d", l.line, story.Moments[len(story.Moments)-1].From, l.from)
		}
	}
	last := story.Moments[len(story.Moments)-1]
	if last.Event != 17 || last.T != 1_100_000_000 || last.Who != "broker-1" || !strings.HasPrefix(last.What, "start") {
		t.Errorf("the last moment is %+v", last)
	}
}
