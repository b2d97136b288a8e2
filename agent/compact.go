package agent

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/transcript"
)

//go:embed compact.md
var compactPrompt string

const (
	defaultReserve   = 13000 // tokens
	bytesPerToken    = 4     // an estimate; providers report the truth afterwards
	summaryMaxRender = 512 << 10
)

// compactor makes a transcript smaller that is about to outgrow its bounds, by steps. It
// is one rewrite, or none.
type compactor struct{ o Compact }

func (compactor) Name() string { return "compaction" }

// mayDo is a mutator that knows beforehand when there is nothing to do.
type mayDo interface{ mayDo(cur Cursor) bool }

// due says whether the transcript is to be compacted now, and a step can do something.
func (c compactor) due(cur Cursor) bool {
	tokens := estimate(cur)
	full := cur.Context > 0 && tokens >= cur.Context-c.reserve(cur)
	share := cur.Context > 0 && c.o.Share > 0 && float64(tokens) >= c.o.Share*float64(cur.Context)
	many := c.o.Items > 0 && len(cur.Items) > c.o.Items
	return (full || share || many) && slices.ContainsFunc(c.steps(), func(m Mutator) bool {
		d, knows := m.(mayDo)
		return !knows || d.mayDo(cur)
	})
}

func (c compactor) reserve(cur Cursor) int {
	if c.o.Reserve > 0 {
		return c.o.Reserve
	}
	return min(defaultReserve, cur.Context/4)
}

func (c compactor) steps() []Mutator {
	if len(c.o.Steps) > 0 {
		return c.o.Steps
	}
	return []Mutator{Summarise(c.o.Keep)}
}

func (c compactor) Mutate(ctx context.Context, cur Cursor) ([]transcript.Encoded, error) {
	prompt := lastPrompt(cur.Items)
	var newest string
	if prompt >= 0 {
		newest = cur.Items[prompt].ID()
	}
	for _, m := range c.steps() {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		items, err := m.Mutate(ctx, cur)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name(), err)
		}
		if items != nil {
			cur.Items = items
		}
	}
	if newest != "" && !slices.ContainsFunc(cur.Items, func(e transcript.Encoded) bool { return e.ID() == newest }) {
		return nil, errors.New("the steps would lose the last prompt")
	}
	return cur.Items, transcript.Validate(cur.Items)
}

// summary is the step that has the model tell the older items.
type summary struct{ keep int }

func (summary) Name() string { return "summary" }

func (s summary) mayDo(cur Cursor) bool {
	cut, _ := s.split(cur)
	return cut >= 2 // less is not worth a summary
}

func (s summary) split(cur Cursor) (cut, prompt int) {
	keep := s.keep
	if keep <= 0 {
		keep = size(cur) / 5
	}
	return split(cur.Items, keep*bytesPerToken)
}

func (s summary) Mutate(ctx context.Context, cur Cursor) ([]transcript.Encoded, error) {
	cut, prompt := s.split(cur)
	if cut < 2 {
		return nil, nil
	}
	told, err := summarise(ctx, cur, cur.Items[:cut])
	if err != nil {
		return nil, err
	}
	out := []transcript.Encoded{told}
	if prompt >= 0 && prompt < cut {
		out = append(out, cur.Items[prompt])
	}
	return append(out, cur.Items[cut:]...), nil
}

// size is the model's context in tokens, or a small one's where it is not known.
func size(cur Cursor) int { return cmp.Or(cur.Context, 32_000) }

// estimate is the number of tokens the next request would have: what the last
// call reported plus what came since, or a count of bytes when nothing was
// reported yet.
func estimate(cur Cursor) int {
	bytes := 0
	for _, e := range slices.Backward(cur.Items) {
		if e.Role() == transcript.RoleAssistant && cur.Usage.Total() > 0 {
			return int(cur.Usage.Total()) + bytes/bytesPerToken
		}
		bytes += len(e.JSON)
	}
	return bytes / bytesPerToken
}

// split returns where the part to keep begins, and the index of the last user
// item. The part to keep begins with an assistant, user or notification item,
// so that no tool pair is split, and is never empty.
func split(items []transcript.Encoded, keepBytes int) (cut, prompt int) {
	prompt = lastPrompt(items)
	cut, size := len(items), 0
	for i, item := range slices.Backward(items) {
		size += len(item.JSON)
		if size > keepBytes && cut < len(items) {
			break
		}
		if item.Role() != transcript.RoleTool {
			cut = i
		}
	}
	return cut, prompt
}

func summarise(ctx context.Context, cur Cursor, items []transcript.Encoded) (transcript.Encoded, error) {
	budget := min(summaryMaxRender, size(cur)*bytesPerToken/2)
	history := transcript.Render(items, transcript.RenderOptions{MaxBytes: budget, MaxPartBytes: max(budget/40, 1000)})
	ask, err := transcript.Encode(transcript.UserText("<history>\n" + history + "</history>\n\nSummarise this history as instructed."))
	if err != nil {
		return transcript.Encoded{}, err
	}
	system := compactPrompt
	if cur.Instructions != "" {
		system += "\n\nThe person who asks for this wants of it:\n" + cur.Instructions
	}
	answer, err := cur.Ask(ctx, system, []transcript.Encoded{ask})
	if err != nil {
		return transcript.Encoded{}, err
	}
	text := strings.TrimSpace(answer.Text())
	if text == "" {
		return transcript.Encoded{}, fmt.Errorf("the model's summary is empty")
	}
	return transcript.Encode(transcript.Item{
		ID: cur.NewID(), Role: transcript.RoleContext,
		Parts: []transcript.Part{transcript.Text{Text: "Summary of the conversation so far (older messages were left out):\n\n" + text}},
	})
}
