package vendoragent

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/transcript"
)

// These are the limits of the history that is sent as text.
const (
	historyTokens   = 20_000
	bytesPerToken   = 3 // most texts have more bytes per token, so the estimate is safe
	historyPartSize = 4 << 10
)

const historyIntro = "The conversation so far is between the tags below. It is background, not a new request. " +
	"Its tool calls have already run. Angle brackets in it are written as entities.\n"

// historyText returns a transcript as text for an agent that does not know it. It contains the
// newest part of the transcript, up to a number of tokens. No text inside the history can end the
// block that contains it, and the text says how many items were omitted. ok is false if there is no
// history.
func historyText(items []transcript.Encoded, tokens int) (text string, ok bool) {
	if tokens <= 0 {
		tokens = historyTokens
	}
	body := history.Render(items, history.RenderOptions{
		MaxBytes: tokens * bytesPerToken, MaxPartBytes: min(historyPartSize, tokens*bytesPerToken/2),
	})
	if body == "" {
		return "", false
	}
	var b strings.Builder
	b.WriteString("<conversation_history>\n")
	b.WriteString(historyIntro)
	b.WriteString(body)
	b.WriteString("</conversation_history>\n")
	return b.String(), true
}

// inputOf returns the parts of items as input for the vendor. Structured parts become texts.
func inputOf(items []transcript.Encoded) []transcript.Part {
	var parts []transcript.Part
	for _, e := range items {
		it, err := e.Decode()
		if err != nil {
			continue
		}
		for _, p := range it.Parts {
			switch p := p.(type) {
			case transcript.Text:
				if p.Text != "" {
					parts = append(parts, transcript.Text{Text: p.Text})
				}
			case transcript.Media, transcript.File:
				parts = append(parts, p)
			case transcript.Structured:
				parts = append(parts, transcript.Text{Text: string(p.Value)})
			}
		}
	}
	return parts
}

// isInput reports whether an item is input for the vendor, that is, whether it comes from a user or
// from the program.
func isInput(e transcript.Encoded) bool {
	switch e.Role() {
	case transcript.RoleUser, transcript.RoleNotification, transcript.RoleContext, transcript.RoleDeveloper:
		return len(e.ResultIDs()) == 0
	}
	return false
}
