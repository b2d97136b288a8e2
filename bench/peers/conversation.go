//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// textOf returns a text of the given number of tokens, at four bytes per token.
func textOf(tokens, turn int) string {
	return fmt.Sprintf("turn %02d ", turn) + strings.Repeat("word", tokens-2)
}

// usage is what a turn has sent.
type usage struct {
	bytes, tokens, fresh int // fresh is the number of tokens after the longest prefix that the server has already seen
	wall, first          time.Duration
}

// conversationRun runs a conversation with a new process for each turn. Either the session is resumed, or a
// new session gets the history as text.
type conversationRun struct {
	p       *program
	resume  bool
	history string
	seen    []string
	usage   []usage
}

// runTurns runs n turns of each conversation, alternately.
func runTurns(ctx context.Context, s *server, talks []*conversationRun, n int) error {
	for i := range n {
		for _, t := range talks {
			if err := t.turn(ctx, s, i); err != nil {
				return fmt.Errorf("turn %d: %w", i+1, err)
			}
		}
	}
	return nil
}

func (t *conversationRun) turn(ctx context.Context, s *server, i int) error {
	ask, answer := textOf(300, 2*i), textOf(300, 2*i+1)
	prompt := ask
	if !t.resume && i > 0 {
		prompt = "<conversation_history>\n" + t.history + "</conversation_history>\n\n" + ask
	}
	f, err := play(ctx, s, t.p, t.resume && i > 0, 0, prompt, answer, false)
	if err != nil {
		return err
	}
	t.history += "[USER]: " + ask + "\n[ASSISTANT]: " + answer + "\n"
	u := usage{bytes: f.bytes, wall: f.wall, first: f.first}
	for _, prompt := range f.prompts {
		known := 0
		for _, before := range t.seen {
			known = max(known, common(before, prompt))
		}
		u.tokens, u.fresh = u.tokens+len(prompt)/4, u.fresh+(len(prompt)-known)/4
		t.seen = append(t.seen, prompt)
	}
	t.usage = append(t.usage, u)
	return nil
}

// common returns the length of the common prefix of two texts.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
