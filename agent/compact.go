package agent

import (
	"context"
	_ "embed"
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

// compactor summarises the older part of a transcript that is about to outgrow
// the model's context. What stays as it is: the newest items, in whole tool
// pairs, and the prompt of the turn that is running.
type compactor struct{ o Compact }

func (compactor) Name() string { return "compaction" }

// due says whether there is something to summarise now: the items before cut, and
// prompt is the index of the last user item.
func (c compactor) due(cur Cursor) (cut, prompt int, due bool) {
	reserve := c.o.Reserve
	if reserve <= 0 {
		reserve = min(defaultReserve, cur.Context/4)
	}
	if estimate(cur) < cur.Context-reserve {
		return 0, 0, false
	}
	keep := c.o.Keep
	if keep <= 0 {
		keep = cur.Context / 5
	}
	cut, prompt = split(cur.Items, keep*bytesPerToken)
	return cut, prompt, cut >= 2 // less is not worth a summary
}

func (c compactor) Mutate(ctx context.Context, cur Cursor) ([]transcript.Encoded, error) {
	cut, prompt, due := c.due(cur)
	if !due {
		return nil, nil
	}
	summary, err := c.summarise(ctx, cur, cur.Items[:cut])
	if err != nil {
		return nil, fmt.Errorf("summary: %w", err)
	}
	out := []transcript.Encoded{summary}
	if prompt >= 0 && prompt < cut {
		out = append(out, cur.Items[prompt])
	}
	return append(out, cur.Items[cut:]...), nil
}

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
	prompt = -1
	for i, item := range slices.Backward(items) {
		if item.Role() == transcript.RoleUser {
			prompt = i
			break
		}
	}
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

func (c compactor) summarise(ctx context.Context, cur Cursor, items []transcript.Encoded) (transcript.Encoded, error) {
	budget := min(summaryMaxRender, cur.Context*bytesPerToken/2)
	history := transcript.Render(items, transcript.RenderOptions{MaxBytes: budget, MaxPartBytes: max(budget/40, 1000)})
	ask, err := transcript.Encode(transcript.UserText("<history>\n" + history + "</history>\n\nSummarise this history as instructed."))
	if err != nil {
		return transcript.Encoded{}, err
	}
	answer, err := cur.Ask(ctx, compactPrompt, []transcript.Encoded{ask})
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
