package fleet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"pestle/campaign"
	"pestle/campaign/result"
)

// Source is one scenario of a campaign.
type Source struct {
	Name  string `json:"name"`  // as the scenario calls itself
	File  string `json:"file"`  // as the user named it
	Text  string `json:"text"`  // the file's content: it must not change while seeds run
	World string `json:"world"` // sim or process
}

// setup is a worker's first line: all that jobs refer to.
type setup struct {
	Scenarios []Source `json:"scenarios"`
	Settings  []string `json:"settings"`
	Dir       string   `json:"dir"` // of the campaign
}

// hasProcesses tells whether some runs start processes, which have to be ended.
func (s setup) hasProcesses() bool {
	return slices.ContainsFunc(s.Scenarios, func(s Source) bool { return s.World != campaign.WorldSim })
}

// job is one run. In sim it is judged in memory, or, to keep it, carried out
// with a run directory, and must then have the trace that it had before.
type job struct {
	Scenario int    `json:"scenario"` // index of setup.Scenarios
	Seed     uint64 `json:"seed"`
	Command  string `json:"command"`         // repeats the run
	Keep     string `json:"keep,omitempty"`  // run directory, relative to the campaign's
	Trace    string `json:"trace,omitempty"` // with Keep: what it has to be
}

// answer is a worker's line. Error ends the campaign: it is for what no other
// worker would do better.
type answer struct {
	Ready  bool           `json:"ready,omitempty"`
	Record *result.Record `json:"record,omitempty"`
	Error  string         `json:"error,omitempty"`
}

// maxLine is the longest line of the protocol, in bytes: scenarios and records
// are bounded far below.
const maxLine = 16 << 20

// line reads one line of the protocol into v. It is io.EOF when there is none.
func line(in *bufio.Reader, v any) error {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLine:
			return fmt.Errorf("a line of more than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(text) > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		return json.Unmarshal(text, v)
	}
}

// send writes v as one line, in one call.
func send(out io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}
