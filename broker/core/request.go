package core

import (
	"fmt"

	"pestle/broker/nsq"
)

// requested acts on an HTTP call.
func (c *Core) requested(now Time, r *Request, fx *Effects) {
	if r.Kind == ReqStats {
		c.curious = append(c.curious, r)
		return
	}
	if r.Kind >= ReqRead {
		c.clusterRequest(now, r, fx)
		return
	}
	if code, text := c.checkRequest(r); code != "" {
		c.reply(r.ID, code, text, fx)
		return
	}
	if !c.ready {
		c.early = append(c.early, r)
		return
	}
	op := &operation{
		topic: r.Topic, channel: r.Channel, bodies: r.Bodies, deferMS: r.DeferMS,
		http: true, request: r.ID,
	}
	switch r.Kind {
	case ReqPublish:
		op.kind = opPublish
	case ReqCreateTopic:
		op.kind = opCreateTopic
	case ReqCreateChannel:
		op.kind = opCreateChannel
	default:
		panic(fmt.Sprintf("core: there is no request of kind %d", r.Kind))
	}
	c.begin(now, op, fx)
}

// answerCurious answers those who asked for statistics, at the end of a step:
// only then what it has changed fits together.
func (c *Core) answerCurious(fx *Effects) {
	for _, r := range c.curious {
		fx.add(Effect{Kind: FxReply, Request: r.ID, Reply: &Reply{Stats: c.stats(r.Topic, r.Channel)}})
	}
	clear(c.curious)
	c.curious = c.curious[:0]
}

// checkRequest returns the error code of a call that can never be done.
func (c *Core) checkRequest(r *Request) (code, text string) {
	if !nsq.ValidName(r.Topic) {
		return "INVALID_TOPIC", fmt.Sprintf("topic name %q is not valid", r.Topic)
	}
	if r.Kind == ReqCreateChannel && !nsq.ValidName(r.Channel) {
		return "INVALID_ARG_CHANNEL", fmt.Sprintf("channel name %q is not valid", r.Channel)
	}
	if r.Kind != ReqPublish {
		return "", ""
	}
	if r.DeferMS < 0 || r.DeferMS > c.cfg.Limits.MaxDeferMS {
		return "INVALID_DEFER", fmt.Sprintf("defer %d ms is not in 0..%d", r.DeferMS, c.cfg.Limits.MaxDeferMS)
	}
	if len(r.Bodies) == 0 {
		return "MSG_EMPTY", "there is no message"
	}
	for _, body := range r.Bodies {
		if len(body) == 0 {
			return "MSG_EMPTY", "a message has no bytes"
		}
		if int64(len(body)) > c.cfg.Limits.MaxMessageSize {
			return "MSG_TOO_BIG", fmt.Sprintf("a message has %d bytes, which is more than %d", len(body), c.cfg.Limits.MaxMessageSize)
		}
	}
	return "", ""
}

func (c *Core) reply(id RequestID, code, text string, fx *Effects) {
	fx.add(Effect{Kind: FxReply, Request: id, Reply: &Reply{Code: code, Text: text}})
}
