package purity

import (
	"go/ast"
	"go/token"
	"go/types"
)

// checkVariables reports package-level variables that are neither error
// sentinels, nor interface assertions, nor declared a table.
func (f *file) checkVariables(parsed *ast.File) {
	for _, decl := range parsed.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			if allBlank(value.Names) || f.allSentinels(value) || f.excused(table, value.Pos()) {
				continue
			}
			f.report(value.Pos(), "package-level variable %s in ring 0: make it a constant, a field or a parameter; a table that nobody writes says so with %stable",
				value.Names[0].Name, directivePrefix)
		}
	}
}

func allBlank(names []*ast.Ident) bool {
	for _, n := range names {
		if n.Name != "_" {
			return false
		}
	}
	return true
}

// allSentinels tells whether every variable of the spec is made by errors.New
// or fmt.Errorf.
func (f *file) allSentinels(spec *ast.ValueSpec) bool {
	for _, v := range spec.Values {
		call, ok := ast.Unparen(v).(*ast.CallExpr)
		if !ok || !f.calls(call, "errors", "New") && !f.calls(call, "fmt", "Errorf") {
			return false
		}
	}
	return len(spec.Values) == len(spec.Names)
}

// checkWrites reports what changes a package-level variable, or makes it
// changeable from elsewhere by taking its address. In a ring-0 file that is
// any package's variable; elsewhere only those of ring 0 count.
func (f *file) checkWrites() {
	for cursor := range f.root.Preorder() {
		switch node := cursor.Node().(type) {
		case *ast.AssignStmt:
			for _, left := range node.Lhs {
				f.checkWrite(left, "assigns to")
			}
		case *ast.IncDecStmt:
			f.checkWrite(node.X, "assigns to")
		case *ast.RangeStmt:
			if node.Tok == token.ASSIGN {
				f.checkWrite(node.Key, "assigns to")
				f.checkWrite(node.Value, "assigns to")
			}
		case *ast.UnaryExpr:
			if node.Op == token.AND {
				f.checkWrite(node.X, "takes the address of")
			}
		case *ast.SliceExpr:
			if _, isArray := underlying(f.pass.TypesInfo.TypeOf(node.X)).(*types.Array); isArray {
				f.checkWrite(node.X, "takes the address of")
			}
		case *ast.CallExpr:
			f.checkWritingCall(node)
		}
	}
}

// checkWritingCall looks at builtins that write their first argument, and at
// methods that get their receiver by address.
func (f *file) checkWritingCall(call *ast.CallExpr) {
	if builtin, ok := f.callee(call).(*types.Builtin); ok && len(call.Args) > 0 {
		switch builtin.Name() {
		case "append", "clear", "copy", "delete":
			f.checkWrite(call.Args[0], builtin.Name()+" writes")
		}
		return
	}
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	selection := f.pass.TypesInfo.Selections[selector]
	if selection == nil || selection.Kind() != types.MethodVal {
		return
	}
	receiver := selection.Obj().(*types.Func).Signature().Recv()
	if _, byAddress := receiver.Type().(*types.Pointer); byAddress {
		f.checkWrite(selector.X, "calls a pointer method of")
	}
}

// checkWrite reports expr when the memory it names belongs to a guarded
// package-level variable.
func (f *file) checkWrite(expr ast.Expr, what string) {
	v := f.rootVariable(expr)
	if v == nil {
		return
	}
	_, guarded := f.rings.find(v.Pkg().Path())
	if !guarded && !f.pure {
		return
	}
	f.report(expr.Pos(), "%s the package-level variable %s: ring 0 has no state outside its values", what, v.Name())
}

// rootVariable returns the package-level variable that expr is, or is a part
// of; nil when there is none or a call stands in between.
func (f *file) rootVariable(expr ast.Expr) *types.Var {
	for {
		switch e := expr.(type) {
		case *ast.ParenExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.SliceExpr:
			expr = e.X
		case *ast.SelectorExpr:
			if v := f.packageVariable(e.Sel); v != nil {
				return v
			}
			expr = e.X
		case *ast.Ident:
			return f.packageVariable(e)
		default:
			return nil
		}
	}
}

func (f *file) packageVariable(ident *ast.Ident) *types.Var {
	v, ok := f.pass.TypesInfo.Uses[ident].(*types.Var)
	if !ok || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return nil
	}
	return v
}
