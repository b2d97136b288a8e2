package acp_test

import (
	"github.com/holdfast-dev/holdfast/transcript"
	"github.com/holdfast-dev/holdfast/workspace/internal/vendor"
)

func turn(text string) vendor.Turn {
	return vendor.Turn{Input: []transcript.Part{transcript.Text{Text: text}}, Dir: "/work", Home: "/home/agent"}
}
