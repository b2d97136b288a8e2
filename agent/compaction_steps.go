package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/transcript"
)

// CompactionStep is one step of a compaction, see [Compact].Steps. It is also a [Mutator]. The
// names of the steps are those in the settings (docs/sessions.md):
//
//	dropThinking  removes the model's thinking from answers before the last prompt
//	dropFailed    removes failed tool uses, with their results, after the model has read them
//	keepRecent    keeps the newest items, the last prompt, and what is not part of the conversation
//	redact        masks secrets in items that were stored without a mask; the earlier content
//	              stays in the log until [session.Sessions.Redact] erases it
//	summarise     replaces the older items by a summary; the prompt of the turn stays
type CompactionStep struct {
	Step   string
	Items  int            // for keepRecent: number of items to keep
	Tokens int            // for summarise: the newest items to keep, in tokens; default as for [Compact].KeepTokens
	Mask   *secret.Masker // redact: the masker
}

func (r CompactionStep) mutator() Mutator {
	switch r.Step {
	case "dropThinking":
		return dropThinking()
	case "dropFailed":
		return dropFailed()
	case "keepRecent":
		return keepRecent(r.Items)
	case "redact":
		return redact(r.Mask)
	case "summarise":
		return summarizer{r.Tokens}
	}
	return funcMutator{name: r.Step, do: func(context.Context, MutatorContext) ([]transcript.Encoded, error) {
		return nil, fmt.Errorf("unknown compaction step %q", r.Step)
	}}
}

// Name returns the name of the step in events and records.
func (r CompactionStep) Name() string { return r.mutator().Name() }

// Mutate runs the step.
func (r CompactionStep) Mutate(ctx context.Context, c MutatorContext) ([]transcript.Encoded, error) {
	return r.mutator().Mutate(ctx, c)
}

func (r CompactionStep) mayChange(c MutatorContext) bool {
	d, knows := r.mutator().(conditionalMutator)
	return !knows || d.mayChange(c)
}

// funcMutator is a mutator made of a function.
type funcMutator struct {
	name string
	do   func(ctx context.Context, c MutatorContext) ([]transcript.Encoded, error)
	may  func(c MutatorContext) bool // reports whether the step can change anything; nil if that is not known in advance
}

func (s funcMutator) Name() string { return s.name }

func (s funcMutator) mayChange(c MutatorContext) bool { return s.may == nil || s.may(c) }

func (s funcMutator) Mutate(ctx context.Context, c MutatorContext) ([]transcript.Encoded, error) {
	return s.do(ctx, c)
}

// lastPrompt returns the index of the last user item, or -1.
func lastPrompt(items []transcript.Encoded) int {
	for i, item := range slices.Backward(items) {
		if item.Role() == transcript.RoleUser {
			return i
		}
	}
	return -1
}

// dropThinking removes the model's thinking from answers before the last prompt. A provider requires
// the thinking of later answers, and of the calls that it answers next.
func dropThinking() Mutator {
	return funcMutator{name: "drop thinking", do: func(_ context.Context, c MutatorContext) ([]transcript.Encoded, error) {
		stays := min(lastPrompt(c.Items), lastAnswer(c.Items))
		return edit(c.Items, func(i int, it *transcript.Item) bool {
			if i >= stays || it.Role != transcript.RoleAssistant {
				return false
			}
			return drop(it, func(p transcript.Part) bool { _, is := p.(transcript.Thinking); return is })
		})
	}}
}

// lastAnswer returns the index of the last answer if that answer has tool calls, or else the number
// of items. A provider may require the thinking that led to the calls, even if a prompt comes after
// their results.
func lastAnswer(items []transcript.Encoded) int {
	for i, item := range slices.Backward(items) {
		if item.Role() == transcript.RoleAssistant {
			if len(item.UseIDs()) > 0 {
				return i
			}
			break
		}
	}
	return len(items)
}

// dropFailed removes failed tool uses and their results after the model has seen them.
func dropFailed() Mutator {
	return funcMutator{name: "drop failed results", do: func(_ context.Context, c MutatorContext) ([]transcript.Encoded, error) {
		failed, err := failedUses(c.Items)
		if err != nil || len(failed) == 0 {
			return nil, err
		}
		return edit(c.Items, func(_ int, it *transcript.Item) bool {
			return drop(it, func(p transcript.Part) bool {
				switch p := p.(type) {
				case transcript.ToolUse:
					return failed[p.ID]
				case transcript.ToolResult:
					return failed[p.UseID]
				}
				return false
			})
		})
	}}
}

// failedUses returns the tool uses whose results are errors, except for the results at the end of
// the transcript.
func failedUses(items []transcript.Encoded) (map[string]bool, error) {
	end := len(items)
	for end > 0 && items[end-1].Role() == transcript.RoleTool {
		end--
	}
	failed := map[string]bool{}
	for _, e := range items[:end] {
		if e.Role() != transcript.RoleTool {
			continue
		}
		it, err := e.Decode()
		if err != nil {
			return nil, err
		}
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok && r.IsError {
				failed[r.UseID] = true
			}
		}
	}
	return failed, nil
}

// isFixed reports whether an item is a host's instruction for the whole session and not part of the
// conversation. No step removes it.
func isFixed(e transcript.Encoded) bool {
	return e.Role() == transcript.RoleSystem || e.Role() == transcript.RoleDeveloper
}

// keepRecent keeps the newest items, the items that complete a tool pair, and the last prompt. It
// also keeps the items outside the conversation (system, developer and context items, such as a
// summary), but does not count them.
func keepRecent(items int) Mutator {
	return funcMutator{name: "keep recent", do: func(_ context.Context, c MutatorContext) ([]transcript.Encoded, error) {
		if kept := recent(c.Items, items); len(kept) < len(c.Items) {
			return kept, nil
		}
		return nil, nil
	}, may: func(c MutatorContext) bool { return len(recent(c.Items, items)) < len(c.Items) }}
}

// recent returns the items of a list that keepRecent keeps.
func recent(list []transcript.Encoded, items int) []transcript.Encoded {
	aside := func(e transcript.Encoded) bool { return isFixed(e) || e.Role() == transcript.RoleContext }
	from := len(list)
	for left := max(items, 1); from > 0 && left > 0; {
		if from--; !aside(list[from]) {
			left--
		}
	}
	for from > 0 && list[from].Role() == transcript.RoleTool {
		from--
	}
	prompt := lastPrompt(list)
	var kept []transcript.Encoded
	for i, e := range list {
		if i >= from || i == prompt || aside(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// redact masks secrets in items that were stored without masking. The earlier content stays in the
// log until session.Sessions.Redact erases it.
func redact(m *secret.Masker) Mutator {
	return funcMutator{name: "redaction", do: func(_ context.Context, c MutatorContext) ([]transcript.Encoded, error) {
		out := slices.Clone(c.Items)
		for i, e := range out {
			masked, err := maskItem(m, e)
			if err != nil {
				return nil, err
			}
			out[i] = masked
		}
		return out, nil
	}}
}

// edit changes items, and removes those that have no content afterwards. A changed item loses its
// native form, because the provider's signature no longer matches.
func edit(items []transcript.Encoded, change func(i int, it *transcript.Item) bool) ([]transcript.Encoded, error) {
	out := make([]transcript.Encoded, 0, len(items))
	for i, e := range items {
		it, err := e.Decode()
		if err != nil {
			return nil, err
		}
		if !change(i, &it) {
			out = append(out, e)
			continue
		}
		if !hasContent(it.Parts) {
			continue
		}
		it.Native = nil
		if e, err = it.Encode(); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// hasContent reports whether parts contain more than thinking and empty text. Providers reject
// items that contain only those.
func hasContent(parts []transcript.Part) bool {
	return slices.ContainsFunc(parts, func(p transcript.Part) bool {
		switch p := p.(type) {
		case transcript.Thinking:
			return false
		case transcript.Text:
			return p.Text != ""
		}
		return true
	})
}

// drop removes parts from an item and reports whether there were any.
func drop(it *transcript.Item, gone func(transcript.Part) bool) bool {
	n := len(it.Parts)
	it.Parts = slices.DeleteFunc(slices.Clone(it.Parts), gone)
	return len(it.Parts) < n
}
