package runlog

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Charge is what one record adds to the usage of a session.
type Charge struct {
	Time       time.Time
	Model      string // the model of the call, or the last one before a tool call or denial
	Usage      transcript.Usage
	CostUSD    float64
	ModelCalls int
	ToolCalls  int
	Denials    int

	// Agent is the session of the sub-agent whose answer the record counts for the run. Its own log
	// contains the same answer.
	Agent string
	// Answer means that the usage is that of an item in this log.
	Answer bool
}

// Meter reads the records of one session in order and returns what they add to its usage. The zero
// value starts at the first record of the session itself, after those that a fork shares with its
// parent.
type Meter struct {
	model    string
	inTurn   bool
	recorded float64 // cost of the turn's recorded calls
}

// Read returns what a record adds. ok is false if it adds nothing.
func (m *Meter) Read(r session.Record) (c Charge, ok bool) {
	if r.Payload == nil {
		return c, false
	}
	switch r.Kind {
	case session.KindItem:
		it, err := record.ReadItem(r.Payload)
		if err != nil || it.Queued || it.Item.Role() != transcript.RoleAssistant || !m.inTurn && !it.Marked() {
			return c, false // outside of a turn, an item without a mark was imported
		}
		c = Charge{Model: it.Item.Model(), Usage: record.UsageOf(it.Item), CostUSD: it.Cost(), ModelCalls: 1, Answer: true}
		m.recorded += c.CostUSD
	case record.KindModelCalled:
		var p record.ModelCalled
		if json.Unmarshal(r.Payload, &p) != nil {
			return c, false
		}
		c = Charge{Model: p.Model, Usage: p.Usage, CostUSD: max(p.Cost, 0), ModelCalls: 1}
		if p.Purpose == "agent" {
			c.Agent = p.Session
		}
		m.recorded += c.CostUSD
	case record.KindTurnOpened:
		m.inTurn = true
		return c, false
	case record.KindTurnClosed:
		m.inTurn = false
		var p record.TurnClosed
		if json.Unmarshal(r.Payload, &p) == nil {
			c.CostUSD = max(p.Cost-m.recorded, 0) // of a version, or a vendor agent, that records only this cost
		}
		m.recorded = 0
	case record.KindToolStarted:
		c.ToolCalls = 1
	case record.KindDecision:
		var d policy.Decision
		if json.Unmarshal(r.Payload, &d) == nil && d.Effect == policy.Deny {
			c.Denials = 1
		}
	default:
		return c, false
	}
	if c.Model == "" {
		c.Model = m.model
	} else if c.Answer {
		m.model = c.Model
	}
	c.Time = r.Time
	return c, c.ModelCalls+c.ToolCalls+c.Denials > 0 || c.CostUSD > 0
}

// Add adds a charge to a total. The total keeps its time and model.
func (c *Charge) Add(d Charge) {
	c.Usage, c.CostUSD = c.Usage.Add(d.Usage), c.CostUSD+d.CostUSD
	c.ModelCalls, c.ToolCalls, c.Denials = c.ModelCalls+d.ModelCalls, c.ToolCalls+d.ToolCalls, c.Denials+d.Denials
}
