package core

import (
	"cmp"
	"fmt"
	"slices"
)

// metadata is the replicated state of group 0: which topics and channels
// there are, and in which order they came to be.
type metadata struct {
	groups     uint32 // data groups of the cluster; 0: this node does not know yet
	members    []member
	partitions uint32 // given out so far; ids count from 1
	channels   uint32 // given out so far; ids count from 1
	topics     []*topic
	byName     map[string]*topic
}

// member is a node of the cluster, now or once.
type member struct {
	id       uint64
	address  string
	retired  bool // it was replaced or removed, for ever
	draining bool // it is not to lead
}

// member returns a node; nil: it was never in the cluster.
func (m *metadata) member(id uint64) *member {
	for i := range m.members {
		if m.members[i].id == id {
			return &m.members[i]
		}
	}
	return nil
}

// addMember adds a node; the list stays ascending.
func (m *metadata) addMember(id uint64, address string) {
	i, _ := slices.BinarySearchFunc(m.members, id, func(x member, id uint64) int { return cmp.Compare(x.id, id) })
	m.members = slices.Insert(m.members, i, member{id: id, address: address})
}

func (m *metadata) changeMembers(e membersChange) {
	old := m.member(e.node)
	if old == nil {
		return
	}
	switch e.verb {
	case memberDrain, memberServe:
		old.draining = e.verb == memberDrain
	case memberReplace:
		if old.retired || e.newNode != 0 && m.member(e.newNode) != nil {
			return
		}
		old.retired = true
		if e.newNode != 0 {
			m.addMember(e.newNode, e.address)
		}
	}
}

// topic is one entry of the metadata.
type topic struct {
	name      string
	partition uint32
	group     uint32 // which the partition is in
	channels  []channelInfo
}

// channelInfo is one channel of a topic.
type channelInfo struct {
	id   uint32
	name string
}

func newMetadata() *metadata { return &metadata{byName: map[string]*topic{}} }

// full reports that no partition id is left: a message id has 20 bits for it.
func (m *metadata) full() bool { return m.partitions >= maxPartition }

func (t *topic) channel(name string) (channelInfo, bool) {
	for _, ch := range t.channels {
		if ch.name == name {
			return ch, true
		}
	}
	return channelInfo{}, false
}

// apply enacts one entry and returns the name of the topic it concerns.
func (m *metadata) apply(kind uint8, payload []byte) (string, error) {
	switch kind {
	case kindTopicCreate:
		e, err := decodeTopicCreate(payload)
		if err != nil {
			return "", fmt.Errorf("topic-create entry: %w", err)
		}
		if m.groups == 0 {
			return "", fmt.Errorf("topic-create entry: there are no data groups")
		}
		m.createTopic(e)
		return e.name, nil
	case kindChannelCreate:
		e, err := decodeChannelCreate(payload)
		if err != nil {
			return "", fmt.Errorf("channel-create entry: %w", err)
		}
		return e.topic, m.createChannel(e)
	case kindMembers:
		e, err := decodeMembersChange(payload)
		if err != nil {
			return "", fmt.Errorf("members entry: %w", err)
		}
		m.changeMembers(e)
		return "", nil
	case kindChannelDelete:
		e, err := decodeChannelDelete(payload)
		if err != nil {
			return "", fmt.Errorf("channel-delete entry: %w", err)
		}
		return e.topic, m.deleteChannel(e)
	}
	return "", fmt.Errorf("entry of kind %d is not one of the metadata group", kind)
}

func (m *metadata) createTopic(e topicCreate) {
	if m.byName[e.name] != nil || m.full() {
		return
	}
	m.partitions++
	m.add(&topic{name: e.name, partition: m.partitions, group: 1 + m.partitions%m.groups})
}

func (m *metadata) add(t *topic) {
	m.topics = append(m.topics, t)
	m.byName[t.name] = t
}

func (m *metadata) createChannel(e channelCreate) error {
	t := m.byName[e.topic]
	if t == nil {
		return fmt.Errorf("channel-create entry: topic %q does not exist", e.topic)
	}
	if _, exists := t.channel(e.name); exists {
		return nil
	}
	m.channels++
	t.channels = append(t.channels, channelInfo{id: m.channels, name: e.name})
	return nil
}

func (m *metadata) deleteChannel(e channelDelete) error {
	t := m.byName[e.topic]
	if t == nil {
		return fmt.Errorf("channel-delete entry: topic %q does not exist", e.topic)
	}
	for i, ch := range t.channels {
		if ch.id == e.channel {
			t.channels = append(t.channels[:i], t.channels[i+1:]...)
			return nil
		}
	}
	return nil
}

// checkpoint is the whole state as an entry.
func (m *metadata) checkpoint() []byte {
	dst := appendUint(appendUint([]byte{entryVersion}, uint64(m.partitions)), uint64(m.channels))
	dst = appendUint(appendUint(dst, uint64(m.groups)), uint64(len(m.members)))
	for _, x := range m.members {
		flags := byte(0)
		if x.retired {
			flags |= 1
		}
		if x.draining {
			flags |= 2
		}
		dst = append(appendWord(appendUint(dst, x.id), x.address), flags)
	}
	dst = appendUint(dst, uint64(len(m.topics)))
	for _, t := range m.topics {
		dst = appendUint(appendUint(appendWord(dst, t.name), uint64(t.partition)), uint64(t.group))
		dst = appendUint(dst, uint64(len(t.channels)))
		for _, ch := range t.channels {
			dst = appendWord(appendUint(dst, uint64(ch.id)), ch.name)
		}
	}
	return dst
}

func loadMetadata(in []byte) (*metadata, error) {
	m := newMetadata()
	d := newDecoder(in)
	m.partitions, m.channels = d.uint32(), d.uint32()
	if m.groups = d.uint32(); m.groups > maxGroups {
		d.fail(fmt.Errorf("it has %d data groups, which is more than %d", m.groups, maxGroups))
	}
	for range d.count(3) {
		x := member{id: d.uint(), address: d.text(maxAddress)}
		flags := d.byte()
		x.retired, x.draining = flags&1 != 0, flags&2 != 0
		m.members = append(m.members, x)
	}
	for range d.count(4) {
		t := &topic{name: d.word(), partition: d.uint32(), group: d.uint32()}
		for range d.count(2) {
			t.channels = append(t.channels, channelInfo{id: d.uint32(), name: d.word()})
		}
		m.add(t)
	}
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("checkpoint of the metadata group: %w", err)
	}
	return m, nil
}
