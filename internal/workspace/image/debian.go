package image

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// Bases is the repository of the base systems built by debootstrap; the tag is the suite.
const Bases = "holdfast/debian"

// packages are added to the base of the Debian variant: the programs that agents use most.
var packages = []string{"ca-certificates", "curl", "git", "jq", "less", "patch", "procps", "ripgrep", "unzip"}

// debian builds an image from a base, agents and holdfast.
func (b *build) debian(ctx context.Context) (string, error) {
	base, err := b.base(ctx)
	if err != nil {
		return "", err
	}
	if base.Platform != "linux/"+b.arch {
		return "", &Error{Op: "build image", Name: b.spec.Base, Err: ErrInvalid, Detail: "the base is for " + base.Platform + ", the engine runs linux/" + b.arch}
	}
	labels := b.labels(base.ID)
	if id, err := b.existingImage(ctx, labels); id != "" || err != nil {
		return id, err
	}
	if err := b.downloadAgents(ctx); err != nil {
		return "", err
	}
	err = b.send(ctx, 0, func(w io.Writer) error { return b.writeContext(w, base.ID, labels) }, func(r io.Reader) error {
		_, err := b.engine.Build(ctx, r, engine.BuildOptions{
			Ref: labels[labelImage], Fresh: b.spec.NoCache, Progress: b.engineMessages,
		})
		return err
	})
	return b.finish(ctx, labels, err)
}

// base finds the base image or builds it.
func (b *build) base(ctx context.Context) (engine.Image, error) {
	if b.spec.Base != "" {
		img, err := b.engine.Image(ctx, b.spec.Base)
		if errors.Is(err, ErrNoImage) {
			return img, &Error{
				Op: "build image", Name: b.spec.tags()[0], Err: ErrNoImage, Detail: "the base " + b.spec.Base + " is missing, and images are not pulled automatically",
				Advice: "docker pull " + b.spec.Base,
			}
		}
		return img, err
	}
	ref := Bases + ":" + b.spec.Suite
	recipe := strconv.Itoa(recipe) + " " + b.arch + " " + b.spec.Mirror + " " + strings.Join(packages, ",")
	img, err := b.engine.Image(ctx, ref)
	if err == nil && !b.spec.NoCache && img.Labels[labelInput] == recipe {
		return img, nil
	}
	if err != nil && !errors.Is(err, ErrNoImage) {
		return img, err
	}
	files, err := b.debootstrap(ctx)
	if err != nil {
		return img, err
	}
	labels := map[string]string{labelImage: ref, labelInput: recipe}
	err = b.load(ctx, files, config{Architecture: b.arch, OS: "linux", Config: runConfig{
		Env: b.env()[:1], Cmd: []string{"/bin/bash"}, Labels: labels,
	}}, []string{ref})
	if err != nil {
		return img, err
	}
	return b.engine.Image(ctx, ref)
}

// noBase returns the error for a missing base image, with a hint.
func (b *build) noBase(why string) error {
	return &Error{
		Op: "build image", Name: b.spec.tags()[0], Err: ErrNoBase, Detail: why,
		Advice: "get a base image and name it: docker pull debian:" + b.spec.Suite + "-slim; holdfast workspace image build --variant debian --base debian:" + b.spec.Suite + "-slim",
	}
}
