package object

import (
	"context"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

func (r *recorder) explain(ctx context.Context, src history.Source, parts []*part, found []finding) ([]checker.Anomaly, string) {
	return []checker.Anomaly{{Name: "nonlinearizable"}}, ""
}
