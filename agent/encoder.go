package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"hash/crc32"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// encoder keeps the encoded items of the transcript for one model, so that each item is encoded
// only once. It also keeps a running digest of the content of a request.
type encoder struct {
	m     model.Model
	api   string
	wires []model.EncodedItem

	slab []byte // contains small encoded items next to each other in memory

	head   session.Digest // digest of the system prompt and the tools, written to sum first
	sum    hash.Hash
	summed int // number of encoded items written to sum
}

func newEncoder(m model.Model) *encoder { return &encoder{m: m, api: m.Info().API} }

// reset drops the encoded items after a rewrite of the transcript.
func (c *encoder) reset() {
	if c != nil {
		c.wires, c.sum, c.summed = nil, nil, 0
	}
}

// encodeBatch is the smallest number of items for which a separate goroutine saves time.
const encodeBatch = 512

// encode encodes the items that are not encoded yet.
func (c *encoder) encode(items []transcript.Encoded) error {
	known := len(c.wires)
	c.wires = slices.Grow(c.wires, len(items)-known)[:len(items)]
	if err := c.encodeFrom(known, items); err != nil {
		c.wires = c.wires[:known]
		return err
	}
	for i := known; i < len(c.wires); i++ {
		c.pack(&c.wires[i])
	}
	return nil
}

const (
	slabSize  = 64 << 10
	slabPiece = 1 << 10
)

// pack copies a small encoded item next to the one before it in memory. Every request reads all
// of them in order, and this layout makes that several times faster.
func (c *encoder) pack(w *model.EncodedItem) {
	n := len(w.JSON)
	if n > slabPiece {
		return
	}
	if cap(c.slab)-len(c.slab) < n {
		c.slab = make([]byte, 0, slabSize)
	}
	at := len(c.slab)
	c.slab = append(c.slab, w.JSON...)
	w.JSON = c.slab[at:len(c.slab):len(c.slab)]
}

func (c *encoder) encodeFrom(from int, items []transcript.Encoded) error {
	var g errgroup.Group
	for ; from < len(items); from += encodeBatch {
		part := items[from:min(from+encodeBatch, len(items))]
		into := c.wires[from:]
		work := func() error {
			for i, e := range part {
				w, err := c.m.Encode(e)
				if err != nil {
					return err
				}
				into[i] = w
			}
			return nil
		}
		if len(part) < encodeBatch {
			if err := work(); err != nil {
				return errors.Join(err, g.Wait())
			}
			continue
		}
		g.Go(work)
	}
	return g.Wait()
}

// mark starts to compute the digest of the request and returns a function that waits for it, so
// that a long transcript is digested while it is sent. If before is an earlier digest for the same
// API, the function also reports whether the messages that before covers are unchanged.
func (c *encoder) mark(head session.Digest, before *record.RequestMark) func() (record.RequestMark, bool) {
	var (
		m    record.RequestMark
		same bool
	)
	if len(c.wires)-c.summed < encodeBatch {
		m, same = c.digest(head, before)
		return func() (record.RequestMark, bool) { return m, same }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m, same = c.digest(head, before)
	}()
	return func() (record.RequestMark, bool) {
		<-done
		return m, same
	}
}

func (c *encoder) digest(head session.Digest, before *record.RequestMark) (m record.RequestMark, same bool) {
	if c.sum == nil || head != c.head {
		c.head, c.sum, c.summed = head, sha256.New(), 0
		c.sum.Write(head[:])
	}
	same = true
	for ; ; c.summed++ {
		if before != nil && before.API == c.api && before.Messages == c.summed {
			same = c.currentDigest().String() == before.Prefix
		}
		if c.summed == len(c.wires) {
			return record.RequestMark{API: c.api, Messages: c.summed, Prefix: c.currentDigest().String()}, same
		}
		c.sum.Write(digestBytes(c.wires[c.summed]))
	}
}

// digestBytes returns the bytes that represent a message in the digest: its role, length and CRC.
// The digest must detect changed bytes but need not resist an attacker, so a CRC is enough; it
// takes a tenth of the time of a cryptographic hash.
func digestBytes(w model.EncodedItem) []byte {
	b := make([]byte, 0, 32)
	b = append(b, w.Role...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(len(w.JSON)))
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // created here: at program start it would cost 0.16 ms for every command
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(w.JSON, castagnoli))
}

func (c *encoder) currentDigest() (d session.Digest) {
	c.sum.Sum(d[:0])
	return d
}

// requestHead is the beginning of every request: the system prompt and the tools.
type requestHead struct {
	system string
	tools  *tool.Registry
	specs  []model.ToolSpec
	digest session.Digest
}

func newRequestHead(system string, tools *tool.Registry) (*requestHead, error) {
	o := &requestHead{system: system, tools: tools}
	if tools != nil {
		for _, s := range tools.Specs() {
			o.specs = append(o.specs, model.ToolSpec{Name: s.Name, Description: s.Description, Input: s.Input})
		}
	}
	b, err := json.Marshal(struct {
		System string
		Tools  []model.ToolSpec
	}{system, o.specs})
	o.digest = session.Digest(sha256.Sum256(b))
	return o, err
}

func (o *requestHead) names() []string {
	names := make([]string, len(o.specs))
	for i, s := range o.specs {
		names[i] = s.Name
	}
	return names
}
