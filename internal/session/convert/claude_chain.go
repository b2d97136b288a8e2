package convert

import "slices"

// plan finds the current conversation: from the last message back to its beginning, following
// each message's parent uuid.
//
//	a ◄─ b ◄─ c ◄─ d      e's parent is b: the user went back before c and d
//	     ▲
//	     └── e ◄─ f       the conversation is a b e f
//
// If a parent is missing, or the links form a cycle, plan continues with the previous message of
// the file and adds a warning: one bad link must not hide the messages before it.
func (c *claude) plan(warn func(int, string, ...any)) fileMeta {
	if !slices.ContainsFunc(c.entries, func(e entry) bool { return e.flags&isMessage != 0 && e.flags&isSide == 0 }) {
		c.side = true
	}
	for i := range c.entries {
		e := &c.entries[i]
		if c.side {
			e.flags &^= isSide
		}
		if e.flags&isDuplicate != 0 && e.flags&isMessage != 0 {
			warn(i+1, "duplicate uuid: the entry is stored but not sent to models")
		}
	}
	at := c.leaf()
	for at >= 0 {
		at = c.walk(at, warn)
	}
	c.addSiblings()
	c.checkOrder(warn)
	c.linkGroups()
	return c.f
}

// leaf returns the last message of the conversation, or -1.
func (c *claude) leaf() int {
	meta := -1
	for i, e := range slices.Backward(c.entries) {
		if e.flags&isMessage == 0 || e.flags&(isSide|isDuplicate) != 0 {
			continue
		}
		if e.flags&isMeta == 0 {
			return i
		}
		meta = max(meta, i)
	}
	return meta
}

// walk marks the messages from entry i back to the beginning, or to a compaction. It returns
// the last message before the compaction, or -1.
func (c *claude) walk(i int, warn func(int, string, ...any)) int {
	first := -1
	for {
		e := &c.entries[i]
		if e.flags&onChain == 0 && e.flags&isMessage != 0 && e.flags&isDuplicate == 0 {
			first = i
		}
		e.flags |= onChain
		if e.flags&isBoundary != 0 {
			if first >= 0 {
				c.entries[first].flags |= startsNew
			}
			return c.before(i, warn)
		}
		if e.parent == (uint128{}) {
			return -1
		}
		up, there := c.byID[e.parent]
		switch {
		case !there:
			warn(i+1, "its parent is missing: the previous message was used instead")
		case c.entries[up].flags&onChain != 0:
			warn(i+1, "the parents form a cycle: the previous message was used instead")
		default:
			i = int(up)
			continue
		}
		if i = c.previous(i); i < 0 {
			return -1
		}
	}
}

// before returns the last message that was compacted at entry i.
func (c *claude) before(i int, warn func(int, string, ...any)) int {
	e := &c.entries[i]
	if up, there := c.byID[e.logical]; there && c.entries[up].flags&onChain == 0 {
		return int(up)
	}
	if e.logical != (uint128{}) {
		warn(i+1, "the message that it follows is missing: the previous message was used instead")
	}
	return c.previous(i)
}

// previous returns the last message before entry i that is not on the chain, or -1.
func (c *claude) previous(i int) int {
	for i--; i >= 0; i-- {
		if e := &c.entries[i]; e.flags&isMessage != 0 && e.flags&(isSide|onChain|isDuplicate) == 0 {
			return i
		}
	}
	return -1
}

// addSiblings adds to the chain the lines of side branches that belong to one of its answers: lines
// of the same message, and results of tools that ran in parallel.
func (c *claude) addSiblings() {
	messages := map[uint64]bool{}
	for _, e := range c.entries {
		if e.flags&onChain != 0 && e.flags&isAssistant != 0 && e.message != 0 {
			messages[e.message] = true
		}
	}
	for i := range c.entries {
		e := &c.entries[i]
		if e.flags&(onChain|isSide|isDuplicate) != 0 {
			continue
		}
		up, there := c.byID[e.parent]
		switch {
		case e.flags&isAssistant != 0 && e.message != 0 && messages[e.message],
			e.flags&isResult != 0 && there && c.entries[up].flags&onChain != 0 && c.entries[up].flags&isAssistant != 0:
			e.flags |= onChain
		}
	}
}

// checkOrder adds a warning if the lines in the file have another order than the chain. The items
// keep the order of the file.
func (c *claude) checkOrder(warn func(int, string, ...any)) {
	for i, e := range c.entries {
		if up, there := c.byID[e.parent]; there && e.flags&onChain != 0 && int(up) > i {
			warn(i+1, "it precedes its parent in line %d: the order of the file was kept", up+1)
		}
	}
}

// linkGroups links the lines of one answer: there is one line for each content block.
func (c *claude) linkGroups() {
	last := -1
	for i := range c.entries {
		e := &c.entries[i]
		if e.flags&isDuplicate != 0 {
			e.flags &^= onChain
		}
		if e.flags&onChain == 0 || e.flags&isMessage == 0 {
			continue
		}
		if last >= 0 && e.flags&isAssistant != 0 && c.entries[last].flags&isAssistant != 0 &&
			e.message != 0 && e.message == c.entries[last].message && e.flags&startsNew == 0 {
			c.entries[last].group = int32(i)
		}
		last = i
	}
}
