package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Instructions are the instruction files for the model. They are sent as an item before the first
// input. The item stays the same for the life of the session, so the provider's prompt cache stays
// valid. If the files have changed when the session resumes, a later item contains the new text. If
// a compaction removes the item, it is sent again.
type Instructions struct {
	Text string
	// Loaded are the files. InstructionsLoaded is fired for each file when the session is opened,
	// and again when the instructions are sent again.
	Loaded []hook.Input
}

// instructedKey is the metadata key of items with instructions; its value is their digest.
const instructedKey = "instructions"

const (
	instructionsChanged = "The instruction files changed. From now on, follow these:\n\n"
	instructionsGone    = "The instruction files you read earlier no longer apply. There are none now."
)

// instructionsTracker finds in the transcript which instructions the model has read. It reads each
// item once.
type instructionsTracker struct {
	of   *transcript.Transcript
	seen int
	sent string // digest of the last instructions that were sent, or ""
	once bool   // true if instructions were in the transcript at any time since the agent started
}

func (r *instructionsTracker) remember(t *transcript.Transcript) {
	if r.of != t {
		*r = instructionsTracker{of: t, once: r.once}
	}
	for ; r.seen < t.Len(); r.seen++ {
		e := t.At(r.seen)
		if e.Role() != transcript.RoleNotification {
			continue
		}
		if it, err := e.Decode(); err == nil && it.Metadata[instructedKey] != nil {
			_ = json.Unmarshal(it.Metadata[instructedKey], &r.sent) // an unreadable mark is ignored
			r.once = true
		}
	}
}

func (i *Instructions) digest() string {
	if i.Text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(i.Text))
	return hex.EncodeToString(sum[:16])
}

// instructionsItem returns an item with the instructions, unless the model has already read them.
// The result again is true if the model had read the instructions and a compaction removed the
// item.
func (l *loop) instructionsItem() (e transcript.Encoded, ok, again bool, err error) {
	in, known := &l.a.opt.Instructions, &l.instructed
	if in.Text == "" && l.t.Len() == 0 {
		return e, false, false, nil
	}
	again = known.once
	known.remember(l.t)
	digest := in.digest()
	if digest == known.sent {
		return e, false, false, nil
	}
	text := in.Text
	if known.sent != "" {
		text, again = cmp.Or(text, instructionsGone), false
		if in.Text != "" {
			text = instructionsChanged + text
		}
	}
	mark, err := json.Marshal(digest)
	if err != nil {
		return e, false, false, err
	}
	e, err = l.a.encode(transcript.Item{
		ID: l.a.opt.NewID(), Time: l.a.opt.Clock(), Role: transcript.RoleNotification,
		Parts:    []transcript.Part{transcript.Text{Text: text}},
		Metadata: map[string]json.RawMessage{instructedKey: mark},
	})
	return e, err == nil, again, err
}

// instructionItems is like instructionsItem, but returns the item as a list of one item or none.
func (l *loop) instructionItems() (items []transcript.Encoded, again bool, err error) {
	e, ok, again, err := l.instructionsItem()
	if ok {
		items = []transcript.Encoded{e}
	}
	return items, again && ok, err
}

// instruct sends the instructions to the model in the middle of a turn, if needed.
func (l *loop) instruct(ctx context.Context) error {
	if !l.t.Dispatchable() {
		return nil
	}
	e, ok, again, err := l.instructionsItem()
	if err != nil || !ok {
		return err
	}
	entries := []entry{itemEntry(e, nil)}
	if again {
		entries = append(l.fireInstructionsLoaded(ctx, "compact"), entries...)
	}
	return l.write(ctx, entries...)
}

// fireInstructionsLoaded fires InstructionsLoaded for each file. If reason is not "", it replaces
// the reasons of the files.
func (l *loop) fireInstructionsLoaded(ctx context.Context, reason string) []entry {
	if l.a.opt.parent != nil || !l.a.opt.Hooks.Registry.Has(hook.InstructionsLoaded) {
		return nil
	}
	var entries []entry
	for _, in := range l.a.opt.Instructions.Loaded {
		in.Event, in.File.LoadReason = hook.InstructionsLoaded, cmp.Or(reason, in.File.LoadReason)
		_, more := l.fireForContext(ctx, in)
		entries = append(entries, more...)
	}
	return entries
}
