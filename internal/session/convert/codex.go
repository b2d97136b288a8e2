package convert

import (
	"strconv"

	"github.com/holdfast-dev/holdfast/transcript"
)

// codex reads the rollouts of Codex. Their lines have a timestamp, a type and a payload; lines of
// older versions have no type. The conversation is in response_item lines. The event_msg lines
// repeat it for display; only rollbacks are read from them.
type codex struct {
	f     fileMeta
	open  *item // the answer whose lines are being read
	model []byte
	items []codexItem // items of the current transcript
}

// codexItem is the data about an item that a rollback needs.
type codexItem struct {
	id   string
	user bool
}

type codexLine struct {
	typ       string
	timestamp []byte
	payload   []byte
}

func readCodex(line []byte) (l codexLine) {
	bare := true
	eachMember(line, func(key, v []byte) bool {
		switch string(key) {
		case "type":
			l.typ = text(v)
		case "timestamp":
			l.timestamp = v
		case "payload":
			l.payload, bare = v, false
		}
		return true
	})
	if bare { // the oldest form
		l.payload = line
		switch l.typ {
		case "":
			l.typ = "session_meta"
		case "message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output", "web_search_call":
			l.typ = "response_item"
		}
	}
	return l
}

func (c *codex) index(_ int, _, line []byte) {
	if line == nil {
		return
	}
	l := readCodex(line)
	if c.f.created.IsZero() {
		c.f.created = stamp(l.timestamp)
	}
	if l.typ != "session_meta" || c.f.session != "" {
		return
	}
	eachMember(l.payload, func(key, v []byte) bool {
		switch string(key) {
		case "id":
			c.f.session = text(v)
		case "cwd":
			c.f.cwd = text(v)
		case "git":
			c.f.branch = text(field(v, "branch"))
		}
		return true
	})
}

func (c *codex) plan(func(int, string, ...any)) fileMeta { return c.f }

func (c *codex) read(k originalLine, line []byte, out *readerOutput) error {
	if line == nil {
		return out.unmapped(k)
	}
	l := readCodex(line)
	switch l.typ {
	case "response_item":
		return c.response(k, &l, out)
	case "session_meta":
		dated(l.timestamp, k.n, out.warn) // the time when the session was created
	case "turn_context":
		if m := modelOf(field(l.payload, "model")); m != nil {
			c.model = m
		}
	case "compacted":
		return c.compacted(k, &l, out)
	case "event_msg":
		if text(field(l.payload, "type")) == "thread_rolled_back" {
			if err := c.rolledBack(k.n, number(field(l.payload, "num_turns")), out); err != nil {
				return err
			}
		}
	}
	return out.unmapped(k)
}

func (c *codex) end(out *readerOutput) error { return c.flush(out) }

// flush ends the current answer.
func (c *codex) flush(out *readerOutput) error {
	it := c.open
	if c.open = nil; it == nil {
		return nil
	}
	it.finish = transcript.FinishStop
	if it.calls() {
		it.finish = transcript.FinishToolUse
	}
	return c.emit(it, out)
}

func (c *codex) emit(it *item, out *readerOutput) error {
	if it.again {
		c.items = c.items[:0]
	}
	c.items = append(c.items, codexItem{it.id, it.role == transcript.RoleUser})
	return out.item(it)
}

// response reads one item of the Responses API.
func (c *codex) response(k originalLine, l *codexLine, out *readerOutput) error {
	it := responseItem(l.payload)
	if it == nil {
		return out.unmapped(k)
	}
	it.line, it.time, it.kept = k.n, dated(l.timestamp, k.n, out.warn), []originalLine{k}
	if it.role == transcript.RoleAssistant {
		if c.open == nil {
			c.open, it.model, it.id = it, c.model, lineID(k.n)
			return nil
		}
		c.open.parts = append(c.open.parts, it.parts...)
		c.open.kept = append(c.open.kept, k)
		return nil
	}
	if err := c.flush(out); err != nil {
		return err
	}
	it.id = lineID(k.n)
	return c.emit(it, out)
}

// compacted restarts the transcript with the items in the line or, without any, with its
// summary.
func (c *codex) compacted(k originalLine, l *codexLine, out *readerOutput) error {
	if err := c.flush(out); err != nil {
		return err
	}
	var list []*item
	elements(field(l.payload, "replacement_history"), func(v []byte) bool {
		it := responseItem(v)
		switch {
		case it == nil:
		case it.role == transcript.RoleAssistant && len(list) > 0 && list[len(list)-1].role == transcript.RoleAssistant:
			last := list[len(list)-1]
			last.parts = append(last.parts, it.parts...)
		default:
			list = append(list, it)
		}
		return true
	})
	message := field(l.payload, "message")
	if len(list) == 0 && isString(message) && len(message) > 2 {
		list = []*item{{role: transcript.RoleUser, parts: []part{textPart(message)}}}
	}
	if len(list) == 0 {
		out.warn(k.n, "the compaction has no summary: the transcript was left unchanged")
		return out.unmapped(k)
	}
	at := dated(l.timestamp, k.n, out.warn)
	for i, it := range list {
		it.line, it.time, it.id = k.n, at, lineID(k.n)
		if i > 0 {
			it.id += "-" + strconv.Itoa(i)
		} else {
			it.again, it.kept = true, []originalLine{k}
		}
		if err := c.emit(it, out); err != nil {
			return err
		}
	}
	return nil
}

// rolledBack removes the last turns.
func (c *codex) rolledBack(n int, turns int64, out *readerOutput) error {
	if err := c.flush(out); err != nil {
		return err
	}
	at := len(c.items)
	for at > 0 && turns > 0 {
		if at--; c.items[at].user {
			turns--
		}
	}
	if at == len(c.items) {
		return nil
	}
	if at == 0 {
		out.warn(n, "the whole session was rolled back: the transcript was kept")
		return nil
	}
	c.items = c.items[:at]
	return out.truncate(c.items[at-1].id)
}
