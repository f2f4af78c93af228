//: outcome {"kind":"not_a_program","message":"unexpected token in expression: '=>'"}
module.exports = ( => ;
