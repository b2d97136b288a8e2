package agent

import (
	"crypto/sha256"
	"encoding/json"
	"hash"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// encoder keeps the wire forms of the transcript for one model, so that an item
// is encoded once, and a running digest of what a request would send.
type encoder struct {
	m     model.Model
	api   string
	head  session.Digest // of system and tools, of what the digest began with
	wires []model.Wire
	sum   hash.Hash
}

func newEncoder(m model.Model) *encoder { return &encoder{m: m, api: m.Info().API} }

// reset forgets the wire forms; a rewrite has changed what they stand for.
func (c *encoder) reset() {
	if c != nil {
		c.wires, c.sum = nil, nil
	}
}

// prepare encodes what is new and returns the mark of the request. When before
// is a mark of this API, same tells whether the bytes up to there are the same.
func (c *encoder) prepare(head session.Digest, items []transcript.Encoded, before *session.RequestMark) (mark session.RequestMark, same bool, err error) {
	if c.sum == nil || head != c.head {
		c.head, c.sum = head, sha256.New()
		c.sum.Write(head[:])
		for _, w := range c.wires {
			c.add(w)
		}
	}
	same = true
	if before != nil && before.Messages < len(c.wires) {
		before = nil // too late to compare
	}
	compare := func(n int) {
		if before != nil && before.API == c.api && before.Messages == n {
			same = c.digest() == before.Prefix
		}
	}
	compare(len(c.wires))
	for i := len(c.wires); i < len(items); i++ {
		w, err := c.m.Encode(items[i])
		if err != nil {
			return mark, false, err
		}
		c.wires = append(c.wires, w)
		c.add(w)
		compare(i + 1)
	}
	return session.RequestMark{API: c.api, Messages: len(c.wires), Prefix: c.digest()}, same, nil
}

func (c *encoder) add(w model.Wire) {
	c.sum.Write([]byte{0})
	c.sum.Write([]byte(w.Role))
	c.sum.Write([]byte{0})
	c.sum.Write(w.JSON)
}

func (c *encoder) digest() (d session.Digest) {
	c.sum.Sum(d[:0])
	return d
}

// offer is what every request begins with: the system prompt and the tools.
type offer struct {
	system string
	tools  *tool.Registry
	specs  []model.ToolSpec
	digest session.Digest
}

func newOffer(system string, tools *tool.Registry) (*offer, error) {
	o := &offer{system: system, tools: tools}
	if tools != nil {
		for _, s := range tools.Specs() {
			o.specs = append(o.specs, model.ToolSpec{Name: s.Name, Description: s.Description, Input: s.Input})
		}
	}
	b, err := json.Marshal(struct {
		System string
		Tools  []model.ToolSpec
	}{system, o.specs})
	o.digest = session.Sum(b)
	return o, err
}

func (o *offer) names() []string {
	names := make([]string, len(o.specs))
	for i, s := range o.specs {
		names[i] = s.Name
	}
	return names
}
