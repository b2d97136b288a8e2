package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"path"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// fileMeta is the data in a file about the whole session.
type fileMeta struct {
	session string // the session's id in the program that wrote the file
	cwd     string
	branch  string
	title   string
	summary string
	tag     string
	created time.Time
	updated time.Time // time of the last entry, if entries have no times
}

// reader reads a format line by line, twice.
type reader interface {
	// index receives every line: unchanged and, if it is JSON, without white space.
	index(n int, raw, line []byte)
	// plan is called once, after all lines were indexed.
	plan(warn func(line int, format string, args ...any)) fileMeta
	// read receives every line again and emits items and lines.
	read(k originalLine, line []byte, out *readerOutput) error
	// end is called after the last line.
	end(out *readerOutput) error
}

// The flags of an entry.
const (
	isUser uint16 = 1 << iota
	isAssistant
	isBoundary  // a compact_boundary
	isSide      // entry of a sub-agent in the main file
	isMeta      // written by the program, not by the user
	isResult    // contains tool results
	isDuplicate // its uuid occurred before
	onChain     // part of the current conversation
	startsNew   // the first after a compaction
)

const isMessage = isUser | isAssistant

// entry is the data about a line that stays in memory.
type entry struct {
	id, parent, logical uint128
	message             uint64 // hash of the message's id
	group               int32  // the next line that belongs to the same item, or 0
	flags               uint16
}

// uint128 is a UUID, or the digest of another kind of id. The zero value means that there is no id.
type uint128 [16]byte

func idOf(lit []byte) (u uint128) {
	if !isString(lit) || len(lit) == 2 {
		return u
	}
	if len(lit) == 38 {
		var b [32]byte
		if n := copy(b[:], lit[1:9]); n == 8 && lit[9] == '-' && lit[14] == '-' && lit[19] == '-' && lit[24] == '-' {
			copy(b[8:], lit[10:14])
			copy(b[12:], lit[15:19])
			copy(b[16:], lit[20:24])
			copy(b[20:], lit[25:37])
			if _, err := hex.Decode(u[:], b[:]); err == nil {
				return u
			}
		}
	}
	sum := sha256.Sum256(lit)
	copy(u[:], sum[:])
	return u
}

// claude reads the JSONL of Claude Code.
type claude struct {
	file    string // name of the file
	entries []entry
	byID    map[uint128]int32
	seed    maphash.Seed
	f       fileMeta
	side    bool // the whole file belongs to a sub-agent

	open *item // the item whose lines are being read
}

func newClaude(file string) *claude {
	return &claude{file: file, byID: map[uint128]int32{}, seed: maphash.MakeSeed(), side: strings.HasPrefix(path.Base(file), "agent-")}
}

// claudeLine has the members of a line that this package uses.
type claudeLine struct {
	typ, subtype                                    string
	uuid, parent, logical, message, timestamp, meta []byte
	session, cwd, branch, title, summary, tag       []byte
	aiTitle, apiError, compactSummary, side, team   []byte
}

func readClaude(line []byte) (c claudeLine) {
	eachMember(line, func(key, v []byte) bool {
		switch string(key) {
		case "type":
			c.typ = text(v)
		case "subtype":
			c.subtype = text(v)
		case "uuid":
			c.uuid = v
		case "parentUuid":
			c.parent = v
		case "logicalParentUuid":
			c.logical = v
		case "message":
			c.message = v
		case "timestamp":
			c.timestamp = v
		case "isMeta":
			c.meta = v
		case "sessionId":
			c.session = v
		case "cwd":
			c.cwd = v
		case "gitBranch":
			c.branch = v
		case "customTitle":
			c.title = v
		case "aiTitle":
			c.aiTitle = v
		case "summary":
			c.summary = v
		case "tag":
			c.tag = v
		case "isApiErrorMessage":
			c.apiError = v
		case "isCompactSummary":
			c.compactSummary = v
		case "isSidechain":
			c.side = v
		case "teamName":
			c.team = v
		}
		return true
	})
	return c
}

func (c *claude) index(n int, _, line []byte) {
	c.entries = append(c.entries, entry{})
	if line == nil {
		return
	}
	e, l := &c.entries[n-1], readClaude(line)
	switch l.typ {
	case "user":
		e.flags |= isUser
	case "assistant":
		e.flags |= isAssistant
	case "system":
		if l.subtype == "compact_boundary" {
			e.flags |= isBoundary
		}
	}
	c.note(&l)
	if !isObject(l.message) {
		e.flags &^= isMessage
	}
	if isTrue(l.side) || isString(l.team) && len(l.team) > 2 {
		e.flags |= isSide
	}
	if isTrue(l.meta) {
		e.flags |= isMeta
	}
	e.id, e.parent, e.logical = idOf(l.uuid), idOf(l.parent), idOf(l.logical)
	if e.id != (uint128{}) {
		if _, there := c.byID[e.id]; there {
			e.flags |= isDuplicate
		} else {
			c.byID[e.id] = int32(n - 1)
		}
	}
	if e.flags&isMessage == 0 {
		return
	}
	eachMember(l.message, func(key, v []byte) bool {
		switch string(key) {
		case "id":
			if isString(v) && len(v) > 2 {
				e.message = maphash.Bytes(c.seed, v) | 1
			}
		case "content":
			if e.flags&isUser != 0 && isArray(v) {
				elements(v, func(b []byte) bool {
					if text(field(b, "type")) == "tool_result" {
						e.flags |= isResult
					}
					return e.flags&isResult == 0
				})
			}
		}
		return true
	})
}

// note stores the data of a line that concerns the whole session.
func (c *claude) note(l *claudeLine) {
	set := func(to *string, lit []byte, first bool) {
		if s, ok := str(lit); ok && s != "" && (!first || *to == "") {
			*to = s
		}
	}
	set(&c.f.session, l.session, true)
	set(&c.f.cwd, l.cwd, true)
	set(&c.f.branch, l.branch, true)
	switch l.typ {
	case "custom-title":
		set(&c.f.title, l.title, false)
	case "ai-title":
		set(&c.f.summary, l.aiTitle, false)
	case "summary":
		set(&c.f.summary, l.summary, false)
	case "tag":
		if s, ok := str(l.tag); ok {
			c.f.tag = s
		}
	}
	if c.f.created.IsZero() {
		c.f.created = stamp(l.timestamp)
	}
}

func (c *claude) read(k originalLine, line []byte, out *readerOutput) error {
	n, e := k.n, &c.entries[k.n-1]
	if line == nil || e.flags&onChain == 0 || e.flags&isMessage == 0 {
		return out.unmapped(k)
	}
	l := readClaude(line)
	if c.open == nil {
		c.open = &item{line: n, id: text(l.uuid), time: dated(l.timestamp, n, out.warn), again: e.flags&startsNew != 0}
		if c.open.id == "" {
			c.open.id = lineID(n)
		}
	}
	c.open.kept = append(c.open.kept, k)
	c.add(e, &l)
	if e.group != 0 {
		return nil
	}
	it := c.open
	c.open = nil
	return out.item(it)
}

func (c *claude) end(*readerOutput) error { return nil }

// add adds a line's message to the open item.
func (c *claude) add(e *entry, l *claudeLine) {
	it := c.open
	var content []byte
	eachMember(l.message, func(key, v []byte) bool {
		switch string(key) {
		case "content":
			content = v
		case "model":
			it.model = modelOf(v)
		case "stop_reason":
			if f := finishOf(v); f != "" {
				it.finish = f
			}
		case "usage":
			it.usage = usageOf(v)
		}
		return true
	})
	it.parts = append(it.parts, partsOf(content)...)
	switch {
	case e.flags&isAssistant != 0:
		it.role = transcript.RoleAssistant
		if isTrue(l.apiError) {
			it.finish = transcript.FinishError
		}
		return
	case it.answers():
		it.role = transcript.RoleTool
	case e.flags&isMeta != 0:
		it.role = transcript.RoleContext
	default:
		it.role = transcript.RoleUser
	}
	it.model, it.finish, it.usage = nil, "", nil
}
