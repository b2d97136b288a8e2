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

// The labels of holdfast's images.
const (
	labelImage    = "dev.holdfast.image"    // the name for which the image was built
	labelVariant  = "dev.holdfast.variant"  // [Scratch] or [Debian]
	labelVersion  = "dev.holdfast.version"  // version of the holdfast that built the image
	labelBinary   = "dev.holdfast.binary"   // sha256 of the holdfast in the image
	labelProtocol = "dev.holdfast.protocol" // protocol version of the supervisor in the image
	labelWith     = "dev.holdfast.with"     // "claude@2.1.197 codex@0.169.0"
	labelBase     = "dev.holdfast.base"     // id of the base
	labelInput    = "dev.holdfast.input"    // sha256 of the complete input of the build
)

// Image is an image built by Build.
type Image struct {
	ID       string    `json:"id"`
	Tags     []string  `json:"tags"`
	Variant  string    `json:"variant"`
	Version  string    `json:"version"`          // of holdfast that built it
	Binary   string    `json:"binary"`           // sha256 of the holdfast in it, hexadecimal
	Protocol int       `json:"protocol"`         // protocol version of its supervisor
	Agents   []string  `json:"with,omitempty"`   // agents, with their versions
	Base     string    `json:"base,omitempty"`   // id of the base
	Size     int64     `json:"size"`             // bytes
	Created  time.Time `json:"created,omitzero"` // for a scratch image: build time of its program
}

// Find returns an image: by name, by id, or "" for [Latest]. The error is [ErrNoImage] if the image
// does not exist, or if holdfast has not built it.
func Find(ctx context.Context, e *engine.Engine, ref string) (*Image, error) {
	img, err := e.Image(ctx, cmp.Or(ref, Latest))
	if err != nil {
		return nil, err
	}
	if img.Labels[labelVariant] == "" {
		return nil, &Error{
			Op: "inspect image", Name: ref, Err: ErrNoImage, Detail: "it was not built by holdfast",
			Advice: "holdfast workspace image build",
		}
	}
	out := newImage(img)
	return &out, nil
}

// List lists the images that Build has built and that have a name, sorted by name.
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
	out.Protocol, _ = strconv.Atoi(img.Labels[labelProtocol]) // 0 if the label was changed
	return out
}
