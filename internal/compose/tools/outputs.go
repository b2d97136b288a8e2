package tools

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/outputs"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/tool"
)

// setupOutputs stores long outputs in the same way as the store keeps records: masked, and sealed
// if the store is. The store is looked up at the first output, because it may be opened later.
func (b *Toolbox) setupOutputs() error {
	if b.isolation.Output == "" || b.env == nil {
		return nil
	}
	mask, err := b.settings.Masker()
	if err != nil {
		return err
	}
	keeper := func() *outputs.Files {
		k := &outputs.Files{Mask: mask}
		if o := b.isolation.Store(); o != nil {
			k.Store, k.Sealed, k.Sealer = o.Ref.Name, o.Ref.Encrypted, o.Sealer()
		}
		return k
	}
	b.storeOutput = func(call *tool.Call, text []byte) (*shell.StoredOutput, error) {
		stored, err := keeper().Write(context.Background(), call.Session, call.ID, text)
		if err != nil {
			return nil, err
		}
		return (*shell.StoredOutput)(stored), nil
	}
	b.folders.Unseal(b.isolation.Output, func(path string, content []byte) ([]byte, error) {
		return keeper().Open(context.Background(), path, content)
	})
	return nil
}
