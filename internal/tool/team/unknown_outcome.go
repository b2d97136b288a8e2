package team

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// messageID returns the id of the item that a call of SendMessage creates in its recipients' sessions.
func messageID(sender, use string) string { return "message-" + sender + "-" + use }

// reportUnknownCalls reports to an agent that was killed during SendMessage which recipients got the
// message. The log only says that the outcome of the call is unknown.
func (t *Team) reportUnknownCalls(ctx context.Context, of *agent.Agent, sessions map[string]string) error {
	items := of.Snapshot().Items
	lost := map[string]bool{}
	for _, e := range items[max(0, len(items)-maxScanned):] {
		it, err := e.Decode()
		if err != nil {
			return err
		}
		for _, p := range it.Parts {
			if r, ok := p.(transcript.ToolResult); ok {
				lost[r.UseID] = string(it.Metadata["outcome"]) == `"unknown"`
			}
		}
	}
	for _, e := range items {
		if e.Role() != transcript.RoleAssistant {
			continue
		}
		for _, u := range e.Uses() {
			if !lost[u.ID] || u.Name != "SendMessage" {
				continue
			}
			if err := t.reportUnknownCall(ctx, of, u, sessions); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxScanned is the maximum number of items, from the end, that are searched for calls with an
// unknown outcome.
const maxScanned = 100

func (t *Team) reportUnknownCall(ctx context.Context, of *agent.Agent, u transcript.ToolUse, sessions map[string]string) error {
	var in sendInput
	if json.Unmarshal(u.Input, &in) != nil {
		return nil // it was never sent
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		id := sessions[name]
		if id == of.SessionID() || in.To != name && in.To != broadcastName {
			continue
		}
		got, err := hasItem(ctx, of.Sessions(), id, messageID(of.SessionID(), u.ID))
		if err != nil {
			return err
		}
		if got {
			fmt.Fprintf(&text, "\nIt was delivered to %s.", name)
		} else {
			fmt.Fprintf(&text, "\nIt was not delivered to %s. Send it again if it still matters.", name)
		}
	}
	if text.Len() == 0 {
		return nil
	}
	_, err := of.QueueNotificationOnce(ctx, "about-"+messageID(of.SessionID(), u.ID), transcript.Text{Text: "Your message of the call " + u.ID + ", which was interrupted:" + text.String()})
	return err
}

// hasItem reports whether a session has or had an item with this id. It reads from the end, because
// the item would be among the last.
func hasItem(ctx context.Context, s *session.Sessions, id, item string) (bool, error) {
	for rec, err := range s.Records(ctx, id, session.Range{Reverse: true}) {
		if err != nil {
			return false, err
		}
		if rec.Kind != session.KindItem || rec.Payload == nil {
			continue
		}
		if it, err := record.ReadItem(rec.Payload); err == nil && it.Item.ID() == item {
			return true, nil
		}
	}
	return false, nil
}
