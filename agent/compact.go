package agent

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

//go:embed compact.md
var compactPrompt string

const (
	defaultReserve   = 13000 // tokens
	bytesPerToken    = 4     // an estimate; providers report the exact number after a call
	summaryMaxRender = 512 << 10
)

// compactor runs the compaction steps when the transcript is about to exceed its limits. A
// compaction writes one rewrite record, or nothing.
type compactor struct{ o Compact }

func (compactor) Name() string { return "compaction" }

// conditionalMutator is a mutator that can report in advance that it has nothing to do.
type conditionalMutator interface{ mayChange(cur MutatorContext) bool }

// due reports whether the transcript must be compacted now and a step is able to change it.
func (c compactor) due(cur MutatorContext) bool {
	return c.exceedsLimits(cur) && slices.ContainsFunc(c.steps(), func(m Mutator) bool {
		d, knows := m.(conditionalMutator)
		return !knows || d.mayChange(cur)
	})
}

// exceedsLimits reports whether the transcript exceeds its limits.
func (c compactor) exceedsLimits(cur MutatorContext) bool {
	tokens := estimate(cur)
	full := cur.Context > 0 && tokens >= cur.Context-c.reserve(cur)
	share := cur.Context > 0 && c.o.Threshold > 0 && float64(tokens) >= c.o.Threshold*float64(cur.Context)
	many := c.o.Items > 0 && len(cur.Items) > c.o.Items
	return full || share || many
}

func (c compactor) reserve(cur MutatorContext) int {
	if c.o.ReserveTokens > 0 {
		return c.o.ReserveTokens
	}
	return min(defaultReserve, cur.Context/4)
}

func (c compactor) steps() []Mutator {
	if len(c.o.Steps) > 0 {
		return c.o.Steps
	}
	return []Mutator{summarizer{c.o.KeepTokens}}
}

func (c compactor) Mutate(ctx context.Context, cur MutatorContext) ([]transcript.Encoded, error) {
	prompt := lastPrompt(cur.Items)
	var newest string
	if prompt >= 0 {
		newest = cur.Items[prompt].ID()
	}
	given := cur.Items
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
	switch {
	case sameItems(given, cur.Items):
		return nil, nil
	case len(cur.Items) == 0:
		return nil, errors.New("the compaction steps would remove every item")
	case newest != "" && !slices.ContainsFunc(cur.Items, func(e transcript.Encoded) bool { return e.ID() == newest }):
		return nil, errors.New("the compaction steps would remove the last prompt")
	}
	return cur.Items, transcript.Validate(cur.Items)
}

// timeOf returns the time of an item.
func timeOf(e transcript.Encoded) time.Time {
	it, err := e.Decode()
	if err != nil {
		return time.Time{}
	}
	return it.Time
}

// summarizer is the step that replaces the older items with a summary from the model.
type summarizer struct{ keep int }

func (summarizer) Name() string { return "summary" }

func (s summarizer) mayChange(cur MutatorContext) bool {
	cut, _ := s.split(cur)
	_, older := splitItems(cur.Items[:cut])
	return len(older) >= 2 // fewer are not worth a summary
}

// splitItems separates fixed items from conversation items.
func splitItems(items []transcript.Encoded) (fixed, older []transcript.Encoded) {
	for _, e := range items {
		if isFixed(e) {
			fixed = append(fixed, e)
		} else {
			older = append(older, e)
		}
	}
	return fixed, older
}

func (s summarizer) split(cur MutatorContext) (cut, prompt int) {
	keep := s.keep * bytesPerToken
	if keep <= 0 {
		all := 0
		for _, e := range cur.Items {
			all += estimateItem(e)
		}
		keep = min(contextSizeOf(cur)/5*bytesPerToken, all/2)
	}
	return split(cur.Items, keep)
}

func (s summarizer) Mutate(ctx context.Context, cur MutatorContext) ([]transcript.Encoded, error) {
	cut, prompt := s.split(cur)
	out, older := splitItems(cur.Items[:cut])
	if len(older) < 2 {
		return nil, nil
	}
	item, err := summariseItems(ctx, cur, older)
	if err != nil {
		return nil, err
	}
	removed := 0
	for i, e := range cur.Items[:cut] {
		if i != prompt && !isFixed(e) {
			removed += estimateItem(e)
		}
	}
	if len(item.JSON) >= removed {
		return nil, errors.New("the model's summary is not shorter than the text it replaces")
	}
	out = append(out, item)
	if prompt >= 0 && prompt < cut {
		out = append(out, cur.Items[prompt])
	}
	return append(out, cur.Items[cut:]...), nil
}

// contextSizeOf returns the context size of the model in tokens, or the size of a small model if it
// is not known.
func contextSizeOf(cur MutatorContext) int { return cmp.Or(cur.Context, 32_000) }

// estimate returns the estimated number of tokens of the next request. This is the usage of the
// last call plus the items since then, or an estimate from the number of bytes if there is no usage
// yet.
func estimate(cur MutatorContext) int {
	bytes := 0
	for _, e := range slices.Backward(cur.Items) {
		if e.Role() == transcript.RoleAssistant && cur.Usage.Total() > 0 {
			return int(cur.Usage.Total()) + bytes/bytesPerToken
		}
		bytes += estimateItem(e)
	}
	return cur.overhead + bytes/bytesPerToken
}

const (
	smallItem  = 8 << 10       // bytes; a smaller item contains no media of significant size
	mediaBytes = 1600 * 4      // the estimate for an image of any file size
	filePerKiB = 1024 / 15 * 4 // the estimate for one KiB of a document
)

// estimateItem returns the size of an item in bytes of text. The cost of an image for a model is
// much lower than its size in bytes suggests.
func estimateItem(e transcript.Encoded) int {
	n := len(e.JSON)
	if n < smallItem {
		return n
	}
	it, err := e.Decode()
	if err != nil {
		return n
	}
	return max(n-mediaDiscount(it.Parts), 0)
}

// mediaDiscount returns the number of bytes to subtract for media.
func mediaDiscount(parts []transcript.Part) (n int) {
	for _, p := range parts {
		switch p := p.(type) {
		case transcript.Media:
			n += max(base64.StdEncoding.EncodedLen(len(p.Data))-mediaBytes, 0)
		case transcript.File:
			size := base64.StdEncoding.EncodedLen(len(p.Data))
			n += max(size-len(p.Data)/1024*filePerKiB-mediaBytes, 0)
		case transcript.ToolResult:
			n += mediaDiscount(p.Content)
		}
	}
	return n
}

// split returns the index where the part to keep begins, and the index of the last user item. The
// part to keep begins with an assistant, user or notification item, so that no tool pair is split.
// It is never empty.
func split(items []transcript.Encoded, keepBytes int) (cut, prompt int) {
	prompt = lastPrompt(items)
	cut, size := len(items), 0
	for i, item := range slices.Backward(items) {
		size += estimateItem(item)
		if size > keepBytes && cut < len(items) {
			break
		}
		if item.Role() != transcript.RoleTool {
			cut = i
		}
	}
	return cut, prompt
}

func summariseItems(ctx context.Context, cur MutatorContext, items []transcript.Encoded) (transcript.Encoded, error) {
	system := compactPrompt
	if cur.Instructions != "" {
		system += "\n\nInstructions of the user for this summary:\n" + cur.Instructions
	}
	text, err := summariseHistory(ctx, cur, system, items)
	if err != nil {
		return transcript.Encoded{}, err
	}
	return transcript.Item{
		ID: cur.NewID(), Time: timeOf(items[len(items)-1]), Role: transcript.RoleContext,
		Parts: []transcript.Part{transcript.Text{Text: "Summary of the conversation so far (older messages were left out):\n\n" + text}},
	}.Encode()

}

// summariseHistory asks the model for a summary of items. If the history is too long for the model,
// its oldest part is dropped.
func summariseHistory(ctx context.Context, cur MutatorContext, system string, items []transcript.Encoded) (string, error) {
	budget := min(summaryMaxRender, contextSizeOf(cur)*bytesPerToken/2)
	for tries := 0; ; tries++ {
		rendered := history.Render(items, history.RenderOptions{MaxBytes: budget, MaxPartBytes: max(budget/40, 1000)})
		ask, err := transcript.UserText("<history>\n" + rendered + "</history>\n\nSummarize this history as instructed.").Encode()
		if err != nil {
			return "", err
		}
		answer, err := cur.Ask(ctx, system, []transcript.Encoded{ask})
		if tooLong(err) && tries < 3 {
			budget /= 2
			continue
		}
		if err != nil {
			return "", err
		}
		text := strings.TrimSpace(answer.Text())
		switch {
		case answer.Finish == transcript.FinishRefusal:
			return "", errors.New("the model refused to write the summary")
		case text == "":
			return "", errors.New("the model's summary is empty")
		}
		return text, nil
	}
}

// tooLong reports whether the model rejected a request because it was too long.
func tooLong(err error) bool {
	me, ok := errors.AsType[*model.Error](err)
	return ok && me.Kind == model.ErrorTooLong
}
