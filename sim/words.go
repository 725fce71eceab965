package sim

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"pestle/broker/core"
	"pestle/history"
	"pestle/sim/disk"
	"pestle/sim/network"
	"pestle/workload"
)

// The kinds of what goes into the trace.
const (
	traceSaid uint64 = iota + 1
	traceCoreEvent
	traceCoreEffect
	traceClientEvent
	traceClientEffect
	traceNetwork
	traceDisk
)

// line writes one line of the log: number, virtual time, who, what.
func (w *world) line(now int64, who, what string) {
	w.log(fmt.Sprintf("%d %d.%09d %s %s", w.trace.events, now/second, now%second, who, what))
}

// say traces something that happens seldom.
func (w *world) say(now int64, who, what string, a, b uint64) {
	w.sayData(now, who, what, a, b, nil)
}

func (w *world) sayData(now int64, who, what string, a, b uint64, data []byte) {
	w.trace.words(traceSaid, uint64(now), a, b)
	w.trace.text(who)
	w.trace.text(what)
	w.trace.bytes(data)
	w.trace.end()
	if w.log == nil {
		return
	}
	if a != 0 || b != 0 {
		what += " " + strconv.FormatUint(a, 10)
	}
	if data != nil {
		what += fmt.Sprintf(" %d bytes", len(data))
	}
	w.line(now, who, what)
}

func (w *world) traceEvent(now int64, p *process, ev *core.Event) {
	w.steps++
	failed := uint64(0)
	if ev.Failed {
		failed = 1
	}
	w.trace.words(traceCoreEvent|uint64(p.host)<<8|uint64(ev.Kind)<<40|failed<<48, uint64(now), uint64(ev.Conn), ev.Token^uint64(ev.N)<<32)
	if len(ev.Data) > 0 {
		w.trace.bytes(ev.Data)
	}
	if r := ev.Request; r != nil {
		w.trace.words(uint64(r.ID), uint64(r.Kind))
	}
	w.trace.end()
	if w.log != nil {
		w.line(now, p.name, "event "+eventWords(ev))
	}
}

func (w *world) traceEffect(now int64, p *process, e *core.Effect) {
	w.trace.words(traceCoreEffect|uint64(p.host)<<8|uint64(e.Kind)<<40|e.Node<<48, uint64(now), uint64(e.Conn), e.Token,
		e.File<<48^uint64(e.Offset)<<20^uint64(e.N))
	if len(e.Data) > 0 {
		w.trace.bytes(e.Data)
	}
	if e.Text != "" {
		w.trace.text(e.Text)
	}
	w.trace.end()
	if w.log != nil {
		w.line(now, p.name, "effect "+coreEffectWords(e))
	}
}

func (w *world) traceNotice(now int64, p *process, n *network.Notice) {
	w.trace.words(traceNetwork|uint64(p.host)<<8|uint64(n.Kind)<<40, uint64(now), uint64(n.Conn), uint64(len(n.Data))<<32|uint64(n.N))
	if p.stream != 0 && len(n.Data) > 0 { // a broker's are hashed as the event of its core
		w.trace.bytes(n.Data)
	}
	w.trace.end()
	if w.log != nil {
		w.line(now, p.name, "network "+noticeWords(n))
	}
}

func (w *world) traceDisk(now int64, p *process, e *core.Effect, out *disk.Outcome) {
	w.trace.words(traceDisk|uint64(p.host)<<8|uint64(e.Kind)<<40, uint64(now), e.File, uint64(e.Offset))
	w.trace.text(out.Text)
	w.trace.end()
	if w.log == nil {
		return
	}
	how := "is done"
	if out.Failed {
		how = "fails: " + out.Text
	}
	w.line(now, p.name, fmt.Sprintf("disk %s of file %d at %d %s", effectWord(e.Kind), e.File, e.Offset, how))
}

func (w *world) traceClientEvent(now int64, p *process, e *workload.Event) {
	w.steps++
	w.trace.words(traceClientEvent|uint64(p.host)<<8|uint64(e.Kind)<<40, uint64(now),
		uint64(e.ID.Producer)<<48^e.ID.Counter, uint64(e.Try)<<32^e.Delivery.Token)
	w.trace.end()
	if w.log != nil {
		w.line(now, p.name, "event "+clientEventWords(e))
	}
}

func (w *world) traceClientEffect(now int64, p *process, e *workload.Effect) {
	w.trace.words(traceClientEffect|uint64(p.host)<<8|uint64(e.Kind)<<40, uint64(now),
		uint64(e.ID.Producer)<<48^e.ID.Counter, uint64(e.Try)<<32^e.Token)
	switch e.Kind {
	case workload.FxState:
		w.trace.bytes(e.Line)
	case workload.FxHistory:
		w.trace.text(string(e.History.Ev))
		w.trace.text(e.History.ID)
		w.trace.text(e.History.What)
		w.trace.text(e.History.Pos)
		w.trace.text(e.History.Sum)
	}
	w.trace.end()
	if w.log != nil {
		w.line(now, p.name, "effect "+clientEffectWords(e))
	}
}

func eventWords(ev *core.Event) string {
	end := ""
	if ev.Failed {
		end = " failed: " + ev.Text
	}
	switch ev.Kind {
	case core.EvOpened:
		return fmt.Sprintf("connection %d opened by %s", ev.Conn, ev.Text)
	case core.EvData:
		return fmt.Sprintf("connection %d data %s", ev.Conn, dataWords(ev.Data))
	case core.EvSent:
		return fmt.Sprintf("connection %d took %d bytes", ev.Conn, ev.N)
	case core.EvClosed:
		return fmt.Sprintf("connection %d closed", ev.Conn)
	case core.EvTimer:
		return "timer"
	case core.EvCreated:
		return fmt.Sprintf("created token %d%s", ev.Token, end)
	case core.EvSynced:
		return fmt.Sprintf("synced token %d%s", ev.Token, end)
	case core.EvRead:
		return fmt.Sprintf("read token %d %s%s", ev.Token, dataWords(ev.Data), end)
	case core.EvRequest:
		return fmt.Sprintf("request %d", ev.Request.ID)
	case core.EvTold:
		return "told " + dataWords(ev.Data)
	case core.EvStop:
		return "stop"
	}
	return fmt.Sprintf("kind %d", ev.Kind)
}

func effectWord(k core.EffectKind) string {
	switch k {
	case core.FxSend:
		return "send"
	case core.FxClose:
		return "close"
	case core.FxCreate:
		return "create"
	case core.FxRecycle:
		return "recycle"
	case core.FxWrite:
		return "write"
	case core.FxSync:
		return "sync"
	case core.FxRemove:
		return "remove"
	case core.FxRead:
		return "read"
	case core.FxReply:
		return "reply"
	case core.FxTell:
		return "tell"
	case core.FxLog:
		return "log"
	case core.FxExit:
		return "exit"
	case core.FxStopped:
		return "stopped"
	}
	return fmt.Sprintf("kind %d", k)
}

func coreEffectWords(e *core.Effect) string {
	word := effectWord(e.Kind)
	switch e.Kind {
	case core.FxSend:
		return fmt.Sprintf("send on connection %d %s", e.Conn, dataWords(e.Data))
	case core.FxClose:
		return fmt.Sprintf("close connection %d", e.Conn)
	case core.FxCreate:
		return fmt.Sprintf("create file %d of %d bytes, token %d", e.File, e.N, e.Token)
	case core.FxRecycle:
		return fmt.Sprintf("recycle file %d as %d, token %d", e.From, e.File, e.Token)
	case core.FxWrite:
		return fmt.Sprintf("write file %d at %d %s", e.File, e.Offset, dataWords(e.Data))
	case core.FxSync:
		return fmt.Sprintf("sync file %d, token %d", e.File, e.Token)
	case core.FxRemove:
		return fmt.Sprintf("remove file %d", e.File)
	case core.FxRead:
		return fmt.Sprintf("read file %d at %d, %d bytes, token %d", e.File, e.Offset, e.N, e.Token)
	case core.FxTell:
		return fmt.Sprintf("tell %s %s", e.Text, dataWords(e.Data))
	case core.FxReply:
		return fmt.Sprintf("reply to request %d %s", e.Request, e.Reply.Code)
	}
	return strings.TrimSpace(word + " " + e.Text)
}

func noticeWords(n *network.Notice) string {
	switch n.Kind {
	case network.Connected:
		return fmt.Sprintf("connection %d works", n.Conn)
	case network.Refused:
		return fmt.Sprintf("connection %d refused", n.Conn)
	case network.Opened:
		return fmt.Sprintf("connection %d to be accepted", n.Conn)
	case network.Data:
		return fmt.Sprintf("connection %d brings %s", n.Conn, dataWords(n.Data))
	case network.Sent:
		return fmt.Sprintf("connection %d takes %d bytes more", n.Conn, n.N)
	default:
		return fmt.Sprintf("connection %d ends: %s", n.Conn, n.Text)
	}
}

func clientEventWords(e *workload.Event) string {
	switch e.Kind {
	case workload.EvStart:
		return "start"
	case workload.EvTimer:
		return "timer"
	case workload.EvAck:
		return fmt.Sprintf("ack %s try %d", e.ID, e.Try)
	case workload.EvFail:
		return fmt.Sprintf("fail %s try %d: %s", e.ID, e.Try, e.Text)
	case workload.EvUnknown:
		return fmt.Sprintf("unknown %s try %d: %s", e.ID, e.Try, e.Text)
	case workload.EvDelivery:
		return fmt.Sprintf("delivery %s attempts %d %s", e.Delivery.Position, e.Delivery.Attempts, dataWords(e.Delivery.Body))
	case workload.EvConnected:
		return "connected to " + e.Target
	case workload.EvDisconnected:
		return "disconnected from " + e.Target + ": " + e.Text
	case workload.EvDrain:
		return "drain"
	}
	return "stop"
}

func clientEffectWords(e *workload.Effect) string {
	switch e.Kind {
	case workload.FxState:
		return "state " + string(bytes.TrimRight(e.Line, "\n"))
	case workload.FxHistory:
		return "history " + historyWords(e.History)
	case workload.FxSend:
		return fmt.Sprintf("send %s try %d", e.ID, e.Try) + deferralWords(e.Delay)
	case workload.FxFinish:
		return fmt.Sprintf("finish delivery %d", e.Token)
	case workload.FxRequeue:
		return fmt.Sprintf("requeue delivery %d after %d ms", e.Token, e.Delay/millisecond)
	case workload.FxForget:
		return fmt.Sprintf("forget delivery %d", e.Token)
	}
	return "done"
}

func deferralWords(delay int64) string {
	if delay == 0 {
		return ""
	}
	return fmt.Sprintf(", deferred by %d ms", delay/millisecond)
}

func historyWords(e history.Event) string {
	return strings.Join(strings.Fields(strings.Join([]string{string(e.Ev), e.What, e.ID, e.Pos, e.Text}, " ")), " ")
}

// dataWords describes bytes by their number and the messages in them.
func dataWords(p []byte) string {
	const mark = "PSTL\x01" // an envelope: see package workload
	words := strconv.Itoa(len(p)) + " bytes"
	for rest := p; ; {
		i := bytes.Index(rest, []byte(mark))
		if i < 0 || i+len(mark) >= len(rest) {
			return words
		}
		rest = rest[i+len(mark):]
		if n := int(rest[0]); len(rest) > n {
			if id, err := workload.ParseID(string(rest[1 : 1+n])); err == nil {
				words += " " + id.String()
			}
		}
	}
}
