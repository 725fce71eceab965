package purity

import (
	"go/ast"
	"go/token"
	"go/types"
)

// checkSyntax reports statements and calls whose outcome the scheduler, the
// runtime or the linker decides.
func (f *file) checkSyntax() {
	for cursor := range f.root.Preorder() {
		switch node := cursor.Node().(type) {
		case *ast.GoStmt:
			f.report(node.Pos(), "go statement in ring 0: return an effect that a driver carries out")
		case *ast.SelectStmt:
			f.report(node.Pos(), "select in ring 0: take the choice as an event")
		case *ast.ChanType:
			f.report(node.Pos(), "channel in ring 0: use a slice that the caller drains")
		case *ast.SendStmt:
			f.report(node.Pos(), "channel send in ring 0: append to a slice that the caller drains")
		case *ast.UnaryExpr:
			if node.Op == token.ARROW {
				f.report(node.Pos(), "channel receive in ring 0: take the value as an event")
			}
		case *ast.RangeStmt:
			f.checkRange(node)
		case *ast.FuncDecl:
			if node.Recv == nil && node.Name.Name == "init" {
				f.report(node.Pos(), "init function in ring 0: its order is nobody's to see; use a constructor or a table")
			}
		case *ast.CallExpr:
			f.checkBuiltin(node)
		}
	}
}

func (f *file) checkRange(loop *ast.RangeStmt) {
	switch over := f.pass.TypesInfo.TypeOf(loop.X); {
	case ranges[*types.Chan](over):
		f.report(loop.Pos(), "range over a channel in ring 0: take the values as events")
	case ranges[*types.Map](over) && !f.excused(orderFree, loop.Pos()):
		f.report(loop.Pos(), "range over a map in ring 0: walk its sorted keys, or say why order cannot matter with %sorderfree", directivePrefix)
	}
}

// ranges tells whether t, or one of the types that the type parameter t allows, is a T.
func ranges[T types.Type](t types.Type) bool {
	param, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		_, is := t.Underlying().(T)
		return is
	}
	return allows[T](param.Constraint())
}

// allows tells whether the constraint lists a type whose underlying type is a T.
func allows[T types.Type](constraint types.Type) bool {
	switch c := constraint.Underlying().(type) {
	case *types.Interface:
		for i := range c.NumEmbeddeds() {
			if allows[T](c.EmbeddedType(i)) {
				return true
			}
		}
	case *types.Union:
		for i := range c.Len() {
			if allows[T](c.Term(i).Type()) {
				return true
			}
		}
	case T:
		return true
	}
	return false
}

func (f *file) checkBuiltin(call *ast.CallExpr) {
	builtin, ok := f.callee(call).(*types.Builtin)
	if !ok {
		return
	}
	if name := builtin.Name(); name == "print" || name == "println" {
		f.report(call.Pos(), "%s in ring 0 writes to standard error: return the text as an effect", name)
	}
}

// checkTypes reports types whose values, or whose arithmetic, differ from
// machine to machine or from run to run.
func (f *file) checkTypes() {
	reported := 0 // the last line reported for floating point: one report a line
	for cursor := range f.root.Preorder() {
		expr, ok := cursor.Node().(ast.Expr)
		if !ok {
			continue
		}
		if mapType, ok := expr.(*ast.MapType); ok {
			f.checkKey(mapType)
		}
		basic, ok := underlying(f.pass.TypesInfo.TypeOf(expr)).(*types.Basic)
		if !ok {
			continue
		}
		switch {
		case basic.Info()&(types.IsFloat|types.IsComplex) != 0 && basic.Info()&types.IsUntyped == 0:
			if line := f.line(expr.Pos()); line != reported && !f.excused(floatingOK, expr.Pos()) {
				reported = line
				f.report(expr.Pos(), "floating point in ring 0: use integers, or say why it decides nothing with %sfloat", directivePrefix)
			}
		case basic.Kind() == types.Uintptr && isTypeName(expr, f.pass.TypesInfo):
			f.report(expr.Pos(), "uintptr in ring 0: an address differs in each run")
		}
	}
}

// isTypeName tells whether expr names a type rather than a value of it.
func isTypeName(expr ast.Expr, info *types.Info) bool {
	tv, ok := info.Types[expr]
	return ok && tv.IsType()
}

func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

func (f *file) checkKey(m *ast.MapType) {
	if key := f.pass.TypesInfo.TypeOf(m.Key); holdsIdentity(key) {
		f.report(m.Key.Pos(), "map key %s in ring 0 is or holds a pointer, channel or interface, which no order can be given: use an id",
			types.TypeString(key, types.RelativeTo(f.pass.Pkg)))
	}
}

// holdsIdentity tells whether values of the comparable type t are compared by
// an address, or by a dynamic type that may be.
func holdsIdentity(t types.Type) bool {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false // each instance names its own key type
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Chan, *types.Interface:
		return true
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Array:
		return holdsIdentity(u.Elem())
	case *types.Struct:
		for field := range u.Fields() {
			if holdsIdentity(field.Type()) {
				return true
			}
		}
	}
	return false
}
