package image

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// The labels of our images.
const (
	labelImage    = "dev.holdfast.image"    // the name it was built for
	labelVariant  = "dev.holdfast.variant"  // [Scratch] or [Debian]
	labelVersion  = "dev.holdfast.version"  // of holdfast that built it
	labelBinary   = "dev.holdfast.binary"   // sha256 of the program
	labelProtocol = "dev.holdfast.protocol" // that supervisors of labelVersion speak
	labelWith     = "dev.holdfast.with"     // "claude@2.1.197 codex@0.169.0"
	labelBase     = "dev.holdfast.base"     // id of the base
	labelInput    = "dev.holdfast.input"    // sha256 of everything it was made of
)

// Image is an image that Build made.
type Image struct {
	ID       string    `json:"id"`
	Tags     []string  `json:"tags"`
	Variant  string    `json:"variant"`
	Version  string    `json:"version"`          // of holdfast that built it
	Binary   string    `json:"binary"`           // sha256 of the program in it, hexadecimal
	Protocol int       `json:"protocol"`         // of its supervisor
	Agents   []string  `json:"with,omitempty"`   // agents, with their versions
	Base     string    `json:"base,omitempty"`   // id of the base
	Size     int64     `json:"size"`             // bytes
	Created  time.Time `json:"created,omitzero"` // of a scratch image: of its program
}

// Find looks at an image: by name, by id, or "" for [Latest]. The error is [ErrNoImage]
// when it is not there, or when somebody else made it.
func Find(ctx context.Context, e *engine.Engine, ref string) (*Image, error) {
	img, err := e.Image(ctx, cmp.Or(ref, Latest))
	if err != nil {
		return nil, err
	}
	if img.Labels[labelVariant] == "" {
		return nil, &Error{
			Op: "look at image", Name: ref, Err: ErrNoImage, Detail: "holdfast did not build this one",
			Advice: "holdfast workspace image build",
		}
	}
	out := newImage(img)
	return &out, nil
}

// List lists the images that Build made and that have a name, by name.
func List(ctx context.Context, e *engine.Engine) ([]Image, error) {
	var out []Image
	for _, variant := range []string{Scratch, Debian} {
		list, err := e.Images(ctx, map[string]string{labelVariant: variant})
		if err != nil {
			return nil, err
		}
		for _, img := range list {
			if slices.Sort(img.Tags); len(img.Tags) > 0 && img.Tags[0] != "<none>:<none>" {
				out = append(out, newImage(img))
			}
		}
	}
	slices.SortFunc(out, func(a, b Image) int { return cmp.Compare(a.Tags[0], b.Tags[0]) })
	return out, nil
}

func newImage(img engine.Image) Image {
	out := Image{
		ID: img.ID, Tags: img.Tags, Variant: img.Labels[labelVariant], Version: img.Labels[labelVersion],
		Binary: img.Labels[labelBinary], Base: img.Labels[labelBase], Agents: strings.Fields(img.Labels[labelWith]),
		Size: img.Size, Created: img.Created,
	}
	out.Protocol, _ = strconv.Atoi(img.Labels[labelProtocol]) // 0 where somebody changed it
	return out
}
