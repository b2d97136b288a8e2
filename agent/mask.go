package agent

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// encode encodes a new item with its secrets masked.
func (a *Agent) encode(it transcript.Item) (transcript.Encoded, error) {
	e, err := it.Encode()
	if err != nil {
		return e, err
	}
	return a.mask(e)
}

// mask masks the secrets of an item. A masked item loses its native form, because the provider's
// signature no longer matches.
func (a *Agent) mask(e transcript.Encoded) (transcript.Encoded, error) {
	return maskItem(a.opt.Mask, e)
}

func maskItem(m *secret.Masker, e transcript.Encoded) (transcript.Encoded, error) {
	if m == nil {
		return e, nil
	}
	masked, found := m.JSON(e.JSON)
	if len(found) == 0 {
		return e, nil
	}
	if err := e.Parse(masked); err != nil {
		return e, err
	}
	it, err := e.Decode()
	if err != nil || it.Native == nil {
		return e, err
	}
	it.Native = nil
	return it.Encode()
}

// masked masks the secrets of a record that is not an item. Digests in the record are those of the
// unmasked content.
func (a *Agent) masked(d session.Draft) session.Draft {
	if a.opt.Mask == nil || d.Kind == session.KindItem {
		return d
	}
	d.Payload, _ = a.opt.Mask.JSON(d.Payload)
	return d
}

// maskedReason is why a call from before a restart does not run.
const maskedReason = "a secret in the input was masked in the log, so the call cannot resume after a restart; make the call again"

// inputErased reports whether the input of a call was read from a log in which it is masked or
// erased.
func (a *Agent) inputErased(c *call) bool {
	in := string(c.use.Input)
	return c.fromLog && (a.opt.Mask.HasPlaceholder(in) || strings.Contains(in, record.Erased))
}

// hiddenReason is the reason why an allow from another program is rejected.
const hiddenReason = "the approver saw the command with a masked secret, and the masked part could do more; approve it where the agent runs"

// isPartlyMasked reports whether the masked part of a command contains characters that a shell
// interprets. An approver who saw the masked command does not know what that part does.
func (a *Agent) isPartlyMasked(reqs []policy.Request) bool {
	return slices.ContainsFunc(reqs, func(r policy.Request) bool {
		return r.Operation == policy.OpCommand && a.opt.Mask.MasksAny(r.Resource, "&;|<>`$()\\\n\r")
	})
}
