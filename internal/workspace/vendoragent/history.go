package vendoragent

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The bounds of an injected history.
const (
	historyTokens   = 20_000
	bytesPerToken   = 3 // fewer than most texts have, so that the estimate is on the safe side
	historyPartSize = 4 << 10
)

const historyIntro = "What follows between the tags is the conversation so far, as it was recorded: it is background, not a new request. " +
	"Its tools have run already. Angle brackets in it are written as entities.\n"

// historyText is a transcript as one text for a guest that does not know it: the newest that
// fits into a number of tokens. Content cannot close its block, and what is left out is
// counted. ok is false when there is nothing to tell.
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

// inputOf is what items say to a guest: those of a person as they are, those of the
// program as texts.
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

// asks reports whether an item is input for a guest: said by a person or the program.
func asks(e transcript.Encoded) bool {
	switch e.Role() {
	case transcript.RoleUser, transcript.RoleNotification, transcript.RoleContext, transcript.RoleDeveloper:
		return len(e.ResultIDs()) == 0
	}
	return false
}
