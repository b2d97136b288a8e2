package agent

import (
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// encode encodes a new item with its secrets masked. What the provider had signed
// does not fit any more then, and is left out.
func (a *Agent) encode(it transcript.Item) (transcript.Encoded, error) {
	e, err := transcript.Encode(it)
	if err != nil || a.opt.Mask == nil {
		return e, err
	}
	masked, found := a.opt.Mask.JSON(e.JSON)
	if len(found) == 0 {
		return e, nil
	}
	if e, err = transcript.Parse(masked); err != nil {
		return e, err
	}
	if it, err = e.Decode(); err != nil || it.Native == nil {
		return e, err
	}
	it.Native = nil
	return transcript.Encode(it)
}

// masked masks the secrets of a record that is no item. Digests in it are of what
// was there before.
func (a *Agent) masked(d session.Draft) session.Draft {
	if a.opt.Mask == nil || d.Kind == session.KindItem {
		return d
	}
	d.Payload, _ = a.opt.Mask.JSON(d.Payload)
	return d
}
